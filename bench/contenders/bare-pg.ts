// Lists, gets and creates directly in PostgreSQL, one query per request: no keys, no checks, no shared commits.

import { createServer } from 'node:http';
import { Pool } from 'pg';

const [port, databaseUrl = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: databaseUrl });
const columns = 'id, name, category_id AS "categoryId", status';
const list = { name: 'list', text: `SELECT ${columns} FROM pets ORDER BY id LIMIT 20` };
const find = { name: 'find', text: `SELECT ${columns} FROM pets WHERE id = $1` };
const create = {
  name: 'create',
  text: `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${columns}`,
};

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
    const id = /^\/v1\/pets\/(\d+)$/.exec(url)?.[1];
    if (id === undefined) void pool.query(list).then(({ rows }) => send(200, rows));
    else void pool.query({ ...find, values: [id] }).then(({ rows }) => send(200, rows[0]));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const pet = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    const values = [pet['name'], pet['categoryId'], pet['status']];
    void pool.query({ ...create, values }).then(({ rows }) => send(201, rows[0]));
  });
}).listen(Number(port), '127.0.0.1');
