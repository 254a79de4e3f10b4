// What survives a loss of power: which files and folders are synced, and in which order with their names.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, test, type TestContext } from 'node:test';
import { intercept, systemError } from '../../../harness/file-functions.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { newStoreIdentity } from '../../domain/store-identity.ts';
import { backUpStore } from '../tools/backup.ts';
import { markDamaged } from './damage.ts';
import { restoreStore } from '../tools/restore.ts';
import { openSqliteStore } from './store.ts';
import { syncName } from './sync.ts';

const now = new Date();
const identity = newStoreIdentity('production', { now, randomBytes });

let folder: string;
let file: string;
let target: string;
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'petstore.sqlite');
  target = join(folder, 'backup.sqlite');
});

/** The syncs, links and renames of this thread, in their order; and the files that it has not closed. */
function record(t: TestContext): { events: string[]; open: Map<number, string> } {
  const events: string[] = [];
  const open = new Map<number, string>();
  intercept(t, 'openSync', (original, path, ...rest) => {
    const descriptor = original(path, ...rest);
    open.set(descriptor, basename(String(path)));
    return descriptor;
  });
  intercept(t, 'closeSync', (original, descriptor) => {
    open.delete(descriptor);
    original(descriptor);
  });
  intercept(t, 'fsyncSync', (original, descriptor) => {
    events.push(`sync ${open.get(descriptor)}`);
    original(descriptor);
  });
  for (const name of ['linkSync', 'renameSync'] as const) {
    intercept(t, name, (original, from, to) => {
      events.push(`${name} ${basename(String(from))} ${basename(String(to))}`);
      original(from, to);
    });
  }
  return { events, open };
}

test('a new store: its folders and its file have their names before the id is written beside it', async (t) => {
  const { events, open } = record(t);
  await openSqliteStore(join(folder, 'new', 'folder', 'petstore.sqlite'), { identity }).close();
  assert.deepEqual(events, [
    'sync new',
    `sync ${basename(folder)}`,
    'sync folder',
    'sync petstore.store-id',
    'sync folder',
  ]);
  assert.deepEqual([...open.values()], []);
});

test('a backup: its content is synced before it gets its name, and the name before it is reported', async (t) => {
  await openSqliteStore(file, { identity }).close();
  const { events, open } = record(t);
  await backUpStore(file, target, { regularAt: now });
  assert.deepEqual(events.slice(-3), [
    `sync backup.sqlite.${process.pid}.partial`,
    `renameSync backup.sqlite.${process.pid}.partial backup.sqlite`,
    `sync ${basename(folder)}`,
  ]);
  assert.deepEqual([...open.values()], []);
});

test('a restore: the former file has its second name before the restored one takes its place', async (t) => {
  await openSqliteStore(file, { identity }).close();
  await backUpStore(file, target, { regularAt: now });
  const { events, open } = record(t);
  await restoreStore(file, target, { idsAbove: 100n });
  assert.deepEqual(events.slice(-5), [
    `sync petstore.sqlite.${process.pid}.partial`,
    'linkSync petstore.sqlite petstore.sqlite.before-restore-1',
    `sync ${basename(folder)}`,
    `renameSync petstore.sqlite.${process.pid}.partial petstore.sqlite`,
    `sync ${basename(folder)}`,
  ]);
  assert.deepEqual([...open.values()], []);
});

test('the mark of a damaged file: only its owner can read it, and it is synced with its name', async (t) => {
  await openSqliteStore(file, NEW_STORE).close();
  const { events } = record(t);
  markDamaged(file, 'page 7');
  assert.deepEqual(events, ['sync petstore.sqlite.damaged', `sync ${basename(folder)}`]);
  assert.equal(statSync(`${file}.damaged`).mode & 0o777, 0o600);
});

test('a folder that the file system cannot sync is left, and any other failure is reported', (t) => {
  let code = '';
  intercept(t, 'fsyncSync', () => {
    throw systemError(code);
  });
  for (code of ['EPERM', 'EISDIR', 'EINVAL', 'EACCES']) syncName(file);
  for (code of ['EIO', 'ENOSPC']) assert.throws(() => syncName(file), { code });
});
