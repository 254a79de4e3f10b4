// A typical stack: Fastify with schemas in and out, a key check, one durable commit per create. Arguments: the port,
// and either a SQLite file or the address of a PostgreSQL database.

import { DatabaseSync } from 'node:sqlite';
import { fastify } from 'fastify';
import { Pool } from 'pg';

interface NewPet {
  name: string;
  categoryId: number;
  status: string;
}

interface PetTable {
  list: (after: number, limit: number, status: string | undefined) => unknown;
  find: (id: number) => unknown;
  create: (pet: NewPet) => unknown;
}

const [port, database = ''] = process.argv.slice(2);
const authorization = `Bearer ${process.env['PETSTORE_BOOTSTRAP_KEY']}`;
const pets = database.startsWith('postgres://') ? postgresTable(database) : sqliteTable(database);

function sqliteTable(file: string): PetTable {
  const sqlite = new DatabaseSync(file);
  sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const columns = 'id, name, category_id AS categoryId, status';
  const list = sqlite.prepare(`SELECT ${columns} FROM pets WHERE id > ? ORDER BY id LIMIT ?`);
  const listOfStatus = sqlite.prepare(
    `SELECT ${columns} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  const find = sqlite.prepare(`SELECT ${columns} FROM pets WHERE id = ?`);
  const insert = sqlite.prepare(
    `INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?) RETURNING ${columns}`,
  );
  return {
    list: (after, limit, status) =>
      status === undefined ? list.all(after, limit) : listOfStatus.all(status, after, limit),
    find: (id) => find.get(id),
    create: ({ name, categoryId, status }) => insert.get(name, categoryId, status),
  };
}

function postgresTable(url: string): PetTable {
  const pool = new Pool({ connectionString: url });
  const columns = 'id, name, category_id AS "categoryId", status';
  const list = `SELECT ${columns} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`;
  const listOfStatus = `SELECT ${columns} FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3`;
  const find = `SELECT ${columns} FROM pets WHERE id = $1`;
  const insert = `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${columns}`;
  const rowsOf = async (name: string, text: string, values: unknown[]) =>
    (await pool.query<object>({ name, text, values })).rows;
  return {
    list: (after, limit, status) =>
      status === undefined
        ? rowsOf('list', list, [after, limit])
        : rowsOf('listOfStatus', listOfStatus, [status, after, limit]),
    find: async (id) => (await rowsOf('find', find, [id]))[0],
    create: async ({ name, categoryId, status }) =>
      (await rowsOf('insert', insert, [name, categoryId, status]))[0],
  };
}

const status = { type: 'string', enum: ['available', 'pending', 'sold'] };
const newPetProperties = {
  name: { type: 'string', minLength: 1, maxLength: 255 },
  categoryId: { type: 'integer' },
  status: { ...status, default: 'available' },
};
const pet = {
  type: 'object',
  properties: { id: { type: 'integer' }, ...newPetProperties },
};
const listQuery = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    after: { type: 'integer', default: 0 },
    status,
  },
};
const newPet = { type: 'object', properties: newPetProperties, required: ['name', 'categoryId'] };
const petId = { type: 'object', properties: { id: { type: 'integer' } } };

const app = fastify();
app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization === authorization) return;
  await reply.code(401).send({ code: 'invalid_api_key', message: 'No such key.', status: 401 });
});
app.get<{ Querystring: { limit: number; after: number; status?: string } }>(
  '/v1/pets',
  { schema: { querystring: listQuery, response: { 200: { type: 'array', items: pet } } } },
  async ({ query }) => pets.list(query.after, query.limit, query.status),
);
app.get<{ Params: { id: number } }>(
  '/v1/pets/:id',
  { schema: { params: petId, response: { 200: pet } } },
  async ({ params }) => pets.find(params.id),
);
app.post<{ Body: NewPet }>(
  '/v1/pets',
  { schema: { body: newPet, response: { 201: pet } } },
  async ({ body }, reply) => reply.code(201).send(await pets.create(body)),
);
await app.listen({ port: Number(port), host: '127.0.0.1' });
