// Stores of the program's first schemas, 8 on SQLite and 9 on PostgreSQL: they open as they are, and a new store equals them.
// A store of any other schema is refused and stays as it is.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newStoreIdentity } from '../../src/domain/store-identity.ts';
import { StoreFault } from '../../src/domain/store.ts';
import { backUpStore } from '../../src/storage/tools/backup.ts';
import { migrate } from '../../src/storage/sqlite/migrate.ts';
import { openAsIs } from '../../src/storage/sqlite/connection.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { verifySqlite } from '../../src/storage/tools/sqlite-verify.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { verifyPostgres } from '../../src/storage/tools/postgres-verify.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';

const identity = newStoreIdentity('production', { now: new Date(), randomBytes });
const SERVE = { environment: 'production', identity } as const;
const REX = { name: 'Rex', categoryId: 7n, status: 'available' } as const;
const CLAIM = {
  apiKeyId: 'key_first',
  key: 'k',
  fingerprint: 'f',
  now: new Date(),
  expiresAt: new Date(Date.now() + 1_000),
};

const sqlOf = (name: string) =>
  readFileSync(new URL(`../../harness/first-stores/${name}`, import.meta.url), 'utf8');

function firstSqlite(file: string): void {
  using database = new DatabaseSync(file);
  database.exec(sqlOf('sqlite-8.sql'));
}

const plain = (sql: unknown) =>
  String(sql)
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/[\s"]+/g, ' ')
    .replaceAll(/ ?([(),]) ?/g, '$1')
    .trim();

/** The statements that made everything in a file, without comments and layout. */
function structureOf(file: string): unknown[] {
  using database = new DatabaseSync(file);
  const rows = database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all();
  return rows.map(({ type, name, sql }) => [type, name, plain(sql)]);
}

test('SQLite: a store of schema 8 opens as it is, and a new store equals it', async (t) => {
  const [first, created] = ['first.sqlite', 'new.sqlite'].map((name) =>
    join(temporaryFolder(t), name),
  );
  assert.ok(first !== undefined && created !== undefined);
  firstSqlite(first);
  await openSqliteStore(created, SERVE).close();
  assert.deepEqual(structureOf(created), structureOf(first));

  const before = structureOf(first);
  const store = openSqliteStore(first, SERVE);
  assert.deepEqual(await store.findPet(1n), { ...REX, id: 1n });
  assert.equal((await store.createPet(REX, CLAIM)).kind, 'replayed');
  const creation = await store.createPet(REX);
  assert.equal(creation.kind === 'created' && creation.pet.id, 3n);
  assert.deepEqual(
    (await store.listApiKeys()).map(({ id }) => id),
    ['key_first'],
  );
  await store.close();
  assert.deepEqual(structureOf(first), before);
  assert.deepEqual(verifySqlite(first).problems, []);
});

for (const version of [1, 2, 3, 4, 5, 6, 7, 9]) {
  test(`SQLite: a store of schema ${version} is refused in one line by serve, verify and backup, and stays as it is`, async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'petstore.sqlite');
    firstSqlite(file);
    const database = new DatabaseSync(file);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    const bytes = readFileSync(file);
    const remedy = version < 8 ? 'it is from before the first release' : 'use a newer version';
    const refused = (error: Error) => {
      assert.ok(error instanceof StoreFault);
      assert.ok(!error.message.includes('\n'));
      const expected = `${file} has schema version ${version}, this program needs 8: ${remedy}`;
      return error.message.startsWith(expected);
    };
    for (const options of [SERVE, { mayMigrate: false }]) {
      assert.throws(() => openSqliteStore(file, options), refused);
    }
    assert.throws(() => verifySqlite(file), refused);
    await assert.rejects(backUpStore(file, join(folder, 'b'), {}), refused);
    assert.ok(readFileSync(file).equals(bytes));
  });
}

test('SQLite: a step brings a store up to date, once, where that is allowed', (t) => {
  const file = join(temporaryFolder(t), 'petstore.sqlite');
  firstSqlite(file);
  const steps = [
    { version: 8, sql: 'CREATE TABLE pets (never INTEGER)' },
    { version: 9, sql: 'ALTER TABLE pets ADD COLUMN colour TEXT' },
  ];
  const open = (access = {}) => {
    using database = openAsIs(file);
    migrate(database, file, access, steps);
  };
  assert.throws(() => open({ mayMigrate: false }), /needs 9: start the service once\.$/);
  assert.throws(() => open({ environment: 'staging' }), /is a production store/);
  for (let start = 0; start < 2; start += 1) open();
  using database = new DatabaseSync(file);
  assert.deepEqual(
    { ...database.prepare('SELECT name, colour FROM pets').get() },
    { name: 'Rex', colour: null },
  );
  assert.equal(database.prepare('PRAGMA user_version').get()?.['user_version'], 9);
  assert.throws(
    () => openSqliteStore(file, NEW_STORE),
    /has schema version 9, this program needs 8: use a newer/,
  );
});

test('PostgreSQL', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const firstDatabase = async () => {
    const database = await server.createDatabase();
    await server.query(sqlOf('postgres-9.sql'), database);
    return database;
  };
  const structure = (database: string) => server.query(STRUCTURE, database);

  await t.test('a store of schema 9 opens as it is, and a new store equals it', async () => {
    const [first, created] = [await firstDatabase(), await server.createDatabase()];
    await (await openPostgresStore(server.url(created), SERVE)).close();
    assert.deepEqual(await structure(created), await structure(first));

    const store = await openPostgresStore(server.url(first), SERVE);
    assert.deepEqual(await store.findPet(1n), { ...REX, id: 1n });
    assert.equal((await store.createPet(REX, CLAIM)).kind, 'replayed');
    const creation = await store.createPet(REX);
    assert.equal(creation.kind === 'created' && creation.pet.id, 3n);
    await store.close();
    assert.deepEqual(await structure(first), await structure(created));
    assert.deepEqual((await verifyPostgres(server.url(first))).problems, []);
  });

  for (const version of [1, 2, 3, 4, 5, 6, 7, 8, 10]) {
    await t.test(
      `a store of schema ${version} is refused in one line, and stays as it is`,
      async () => {
        const database = await firstDatabase();
        await server.query(`UPDATE petstore_schema SET version = ${version}`, database);
        const before = await structure(database);
        const remedy = version < 9 ? 'it is from before the first release' : 'use a newer version';
        const refused = (error: Error) =>
          error instanceof StoreFault &&
          !error.message.includes('\n') &&
          error.message.includes(` has schema version ${version}, this program needs 9: ${remedy}`);
        for (const access of [SERVE, { mayMigrate: false }]) {
          await assert.rejects(openPostgresStore(server.url(database), access), refused);
        }
        await assert.rejects(verifyPostgres(server.url(database)), refused);
        assert.deepEqual(await structure(database), before);
        const rows = await server.query('SELECT version FROM petstore_schema', database);
        assert.deepEqual(rows, [[version]]);
      },
    );
  }
});

/** Tables, columns, constraints and indexes, as the catalog of PostgreSQL describes them. */
const STRUCTURE = `
  SELECT 'table', relname::text, relpersistence::text, coalesce(reloptions::text, '')
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
  UNION ALL
  SELECT 'column', attrelid::regclass::text || ' ' || attnum || ' ' || attname,
         format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || attcollation::regcollation,
         coalesce(pg_get_expr(adbin, adrelid), '')
  FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')
    AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT 'constraint', conname::text, conrelid::regclass::text, pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0
  UNION ALL
  SELECT 'index', indexname::text, tablename::text, indexdef FROM pg_indexes WHERE schemaname = 'public'
  ORDER BY 1, 2, 3`;
