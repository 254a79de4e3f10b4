// A typical stack: Fastify with schemas in and out, a key check, node:sqlite, one durable commit per create.

import { DatabaseSync } from 'node:sqlite';
import { fastify } from 'fastify';

const [port, storeFile = ''] = process.argv.slice(2);
const authorization = `Bearer ${process.env['PETSTORE_BOOTSTRAP_KEY']}`;
const database = new DatabaseSync(storeFile);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
const columns = 'id, name, category_id AS categoryId, status';
const list = database.prepare(`SELECT ${columns} FROM pets WHERE id > ? ORDER BY id LIMIT ?`);
const insert = database.prepare(
  `INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?) RETURNING ${columns}`,
);

const newPetProperties = {
  name: { type: 'string', minLength: 1, maxLength: 255 },
  categoryId: { type: 'integer' },
  status: { type: 'string', enum: ['available', 'pending', 'sold'], default: 'available' },
};
const pet = {
  type: 'object',
  properties: { id: { type: 'integer' }, ...newPetProperties },
};

const app = fastify();
app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization === authorization) return;
  await reply.code(401).send({ code: 'invalid_api_key', message: 'No such key.', status: 401 });
});
app.get<{ Querystring: { limit: number; after: number } }>(
  '/v1/pets',
  {
    schema: {
      querystring: {
        type: 'object',
        properties: {
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
          after: { type: 'integer', default: 0 },
        },
      },
      response: { 200: { type: 'array', items: pet } },
    },
  },
  async (request) => list.all(request.query.after, request.query.limit),
);
app.post<{ Body: { name: string; categoryId: number; status: string } }>(
  '/v1/pets',
  {
    schema: {
      body: { type: 'object', properties: newPetProperties, required: ['name', 'categoryId'] },
      response: { 201: pet },
    },
  },
  async (request, reply) => {
    const { name, categoryId, status } = request.body;
    return reply.code(201).send(insert.get(name, categoryId, status));
  },
);
await app.listen({ port: Number(port), host: '127.0.0.1' });
