import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import type { Access } from '../domain/store-identity.ts';
import { pendingMigrations, readMigrations } from './migrations.ts';

test('migrations are read in the order of their numbers, and a gap is a mistake', async (context) => {
  const folder = temporaryFolder(context);
  const url = pathToFileURL(`${folder}/`);
  await writeFile(join(folder, '0009-more.sql'), 'two');
  await writeFile(join(folder, '0008-first.sql'), 'one');
  await writeFile(join(folder, 'notes.txt'), 'no migration');
  assert.deepEqual(readMigrations(url), [
    { version: 8, sql: 'one' },
    { version: 9, sql: 'two' },
  ]);
  await writeFile(join(folder, '0011-late.sql'), 'four');
  assert.throws(() => readMigrations(url), /0011-late\.sql should be migration 10/);
});

test('a store gets the migrations it lacks; an older one, and one from the future, are refused', () => {
  const migrations = [8, 9, 10].map((version) => ({ version, sql: '' }));
  const versions = (at: number) =>
    pendingMigrations(migrations, at, 'it', NEW_STORE).map(({ version }) => version);
  assert.deepEqual(versions(0), [8, 9, 10]);
  assert.deepEqual(versions(8), [9, 10]);
  assert.deepEqual(versions(10), []);
  for (const at of [1, 7])
    assert.throws(() => versions(at), /^StoreFault: it has .* before the first/);
  assert.throws(() => versions(11), /^StoreFault: it has .* 11, .* needs 10: use a newer version/);
});

test('a store is created or migrated only where that is allowed', () => {
  const migrations = [8, 9].map((version) => ({ version, sql: '' }));
  const count = (version: number, access: Access) =>
    pendingMigrations(migrations, version, 'it', access).length;
  assert.equal(count(0, { ...NEW_STORE, mayMigrate: false }), 2);
  assert.equal(count(8, {}), 1);
  assert.equal(count(9, { mayMigrate: false }), 0);
  assert.throws(() => count(0, {}), /^StoreUnusable: there is no store at it:/);
  assert.throws(
    () => count(8, { mayMigrate: false }),
    /^StoreFault: it has .* needs 9: start the /,
  );
});
