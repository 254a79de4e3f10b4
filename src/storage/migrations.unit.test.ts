import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { StoreUnusable } from '../domain/store.ts';
import { pendingMigrations, readMigrations } from './migrations.ts';

test('migrations are read in the order of their numbers, and a gap is a mistake', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-migrations-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const url = pathToFileURL(`${folder}/`);
  await writeFile(join(folder, '0002-more.sql'), 'two');
  await writeFile(join(folder, '0001-first.sql'), 'one');
  await writeFile(join(folder, 'notes.txt'), 'no migration');
  assert.deepEqual(readMigrations(url), [
    { version: 1, sql: 'one' },
    { version: 2, sql: 'two' },
  ]);
  await writeFile(join(folder, '0004-late.sql'), 'four');
  assert.throws(() => readMigrations(url), /0004-late\.sql should be migration number 3/);
});

test('a store gets the migrations it lacks, and one from the future is refused', () => {
  const migrations = [1, 2, 3].map((version) => ({ version, sql: '' }));
  const versions = (at: number) =>
    pendingMigrations(migrations, { version: at }, 'it').map(({ version }) => version);
  assert.deepEqual(versions(0), [1, 2, 3]);
  assert.deepEqual(versions(2), [3]);
  assert.deepEqual(versions(3), []);
  assert.throws(() => versions(4), StoreUnusable);
});

test('a store is created or migrated only where that is allowed', () => {
  const migrations = [1, 2].map((version) => ({ version, sql: '' }));
  const count = (version: number, access: { mayCreate?: boolean; mayMigrate?: boolean }) =>
    pendingMigrations(migrations, { version }, 'it', access).length;
  assert.equal(count(0, { mayMigrate: false }), 2);
  assert.equal(count(1, { mayCreate: false }), 1);
  assert.equal(count(2, { mayCreate: false, mayMigrate: false }), 0);
  assert.throws(() => count(0, { mayCreate: false }), /^StoreUnusable: there is no store at it:/);
  assert.throws(() => count(1, { mayMigrate: false }), /^StoreFault: it is of schema 1, .* 2: /);
});
