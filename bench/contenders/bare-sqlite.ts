// Lists, gets and creates directly in SQLite, one durable commit per create: no keys, no checks, no exact integers,
// no cache.

import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

interface NewPet {
  name: string;
  categoryId: number;
  status: string;
}

const [port, storeFile = ''] = process.argv.slice(2);
const database = new DatabaseSync(storeFile);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
const columns = 'id, name, category_id AS categoryId, status';
const list = database.prepare(`SELECT ${columns} FROM pets WHERE id > ? ORDER BY id LIMIT 20`);
const find = database.prepare(`SELECT ${columns} FROM pets WHERE id = ?`);
const insert = database.prepare('INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)');

createServer((request, response) => {
  const send = (status: number, value: unknown) => {
    const body = JSON.stringify(value);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  };
  const { method, url = '' } = request;
  if (method === 'GET') {
    // /v1/pets, /v1/pets?after=7 or /v1/pets/7
    const [, separator, number] = /^\/v1\/pets(?:(\/|\?after=)(\d+))?$/.exec(url) ?? [];
    send(200, separator === '/' ? find.get(Number(number)) : list.all(Number(number ?? 0)));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const pet = JSON.parse(Buffer.concat(chunks).toString()) as NewPet;
    const { lastInsertRowid: id } = insert.run(pet.name, pet.categoryId, pet.status);
    send(201, { id, ...pet });
  });
}).listen(Number(port), '127.0.0.1');
