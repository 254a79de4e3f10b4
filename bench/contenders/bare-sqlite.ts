// Lists directly from SQLite: no keys, no checks, no exact integers, no cache.

import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

const [port, storeFile = ''] = process.argv.slice(2);
const database = new DatabaseSync(storeFile);
const list = database.prepare(
  'SELECT id, name, category_id AS categoryId, status FROM pets WHERE id > ? ORDER BY id LIMIT 20',
);

createServer((request, response) => {
  const url = request.url ?? '';
  const body = JSON.stringify(list.all(Number(url.slice(url.indexOf('=') + 1))));
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}).listen(Number(port), '127.0.0.1');
