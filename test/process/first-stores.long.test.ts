// Stores of the program's first schemas, 8 on SQLite and 9 on PostgreSQL: they open, and are then what a new store is.
// A store of any other schema is refused and stays as it is.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newStoreIdentity } from '../../src/domain/store-identity.ts';
import { StoreFault, type Store } from '../../src/domain/store.ts';
import { backUpStore } from '../../src/storage/tools/backup.ts';
import { migrate } from '../../src/storage/sqlite/migrate.ts';
import { openAsIs } from '../../src/storage/sqlite/connection.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { verifySqlite } from '../../src/storage/tools/sqlite-verify.ts';
import type { Verification } from '../../src/storage/tools/verify.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { verifyPostgres } from '../../src/storage/tools/postgres-verify.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const identity = newStoreIdentity('production', { now: new Date(), randomBytes });
const SERVE = { environment: 'production', identity } as const;
const COMMAND = { mayMigrate: false };
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

/** The statements that made everything in a file, without comments and layout: verify does not compare a CHECK. */
function statementsOf(file: string): string[] {
  using database = new DatabaseSync(file);
  const rows = database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();
  return rows.map(({ name, sql }) =>
    `${String(name)}: ${String(sql)}`
      .replaceAll(/--.*$/gm, '')
      .replaceAll(/[\s"]+/g, ' ')
      .replaceAll(/ ?([(),]) ?/g, '$1')
      .trim(),
  );
}

/** Uses a store that has the first animal and its claim. */
async function use(store: Store): Promise<void> {
  assert.deepEqual(await store.findPet(1n), { ...REX, id: 1n });
  assert.equal((await store.createPet(REX, CLAIM)).kind, 'replayed');
  const creation = await store.createPet(REX);
  assert.equal(creation.kind === 'created' && creation.pet.id, 3n);
  const ids = (await store.listApiKeys()).map(({ id }) => id);
  assert.deepEqual(ids, ['key_first']);
  await store.close();
}

/** Verifies that a store is what a new one is: nothing is missing, different or more. */
function assertWhole({ problems, warnings }: Verification): void {
  assert.deepEqual([problems, warnings], [[], []]);
}

/** The refusal of a store with this schema, by a program whose own is the other number. */
function refusal(version: number, own: number): (error: Error) => boolean {
  const remedy = version < own ? 'it is from before the first release' : 'use a newer version';
  const expected = ` has schema version ${version}, this program needs ${own}: ${remedy}`;
  return (error) =>
    error instanceof StoreFault &&
    error.message.includes(expected) &&
    !error.message.includes('\n');
}

test('SQLite: a store of schema 8 is verified as it is, is brought up to date by the service alone, and then equals a new one', async (t) => {
  const folder = temporaryFolder(t);
  const [first, created] = [join(folder, 'first.sqlite'), join(folder, 'new.sqlite')];
  firstSqlite(first);
  await openSqliteStore(created, SERVE).close();
  assertWhole(verifySqlite(first));
  assertWhole(await backUpStore(first, join(folder, 'backup.sqlite'), {}));
  assert.throws(
    () => openSqliteStore(first, COMMAND),
    /has schema version 8, this program needs 9: start the service once\.$/,
  );
  await use(openSqliteStore(first, SERVE));
  assert.deepEqual(statementsOf(first), statementsOf(created));
  assertWhole(verifySqlite(first));
});

test('SQLite: a store of schema 1 to 7, or 10, is refused by serve, commands, verify and backup, and stays as it is', async (t) => {
  const folder = temporaryFolder(t);
  for (const version of [1, 2, 3, 4, 5, 6, 7, 10]) {
    const file = join(folder, `${version}.sqlite`);
    firstSqlite(file);
    {
      using database = new DatabaseSync(file);
      database.exec(`PRAGMA user_version = ${version}`);
    }
    const bytes = readFileSync(file);
    const refused = refusal(version, 9);
    for (const access of [SERVE, COMMAND]) {
      assert.throws(() => openSqliteStore(file, access), refused);
    }
    assert.throws(() => verifySqlite(file), refused);
    await assert.rejects(backUpStore(file, join(folder, 'b'), {}), refused);
    assert.ok(readFileSync(file).equals(bytes));
  }
});

test('SQLite: a step brings a store up to date, once, where that is allowed', (t) => {
  const file = join(temporaryFolder(t), 'petstore.sqlite');
  firstSqlite(file);
  const steps = [
    { version: 8, sql: 'CREATE TABLE pets (never INTEGER)' },
    { version: 9, sql: 'CREATE TABLE toys (name TEXT)' },
    { version: 10, sql: 'ALTER TABLE pets ADD COLUMN colour TEXT' },
  ];
  const open = (access = {}) => {
    using database = openAsIs(file);
    migrate(database, file, access, steps);
  };
  assert.throws(() => open({ mayMigrate: false }), /needs 10: start the service once\.$/);
  assert.throws(() => open({ environment: 'staging' }), /is a production store/);
  for (let start = 0; start < 2; start += 1) open();
  using database = new DatabaseSync(file);
  assert.deepEqual(
    { ...database.prepare('SELECT name, colour FROM pets').get() },
    { name: 'Rex', colour: null },
  );
  assert.equal(database.prepare('PRAGMA user_version').get()?.['user_version'], 10);
  assert.throws(
    () => openSqliteStore(file, NEW_STORE),
    /has schema version 10, this program needs 9: use a newer/,
  );
});

test('PostgreSQL: a store of schema 9 opens as it is, and a new store equals it; 1 to 8, and 10, are refused', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const database = await server.createDatabase();
  await server.query(sqlOf('postgres-9.sql'), database);
  const url = server.url(database);
  for (const version of [1, 2, 3, 4, 5, 6, 7, 8, 10]) {
    await server.query(`UPDATE petstore_schema SET version = ${version}`, database);
    const refused = refusal(version, 9);
    for (const access of [SERVE, COMMAND]) {
      await assert.rejects(openPostgresStore(url, access), refused);
    }
    await assert.rejects(verifyPostgres(url), refused);
    const rows = await server.query('SELECT version FROM petstore_schema', database);
    assert.deepEqual(rows, [[version]]);
  }
  // The refusals have changed nothing.
  await server.query('UPDATE petstore_schema SET version = 9', database);
  assertWhole(await verifyPostgres(url));
  await use(await openPostgresStore(url, SERVE));
  assertWhole(await verifyPostgres(url));
});
