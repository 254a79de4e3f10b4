// What a start finds in the log of SQLite is written again.

import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { intercept, systemError } from '../../../harness/file-functions.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { openAsIs } from './connection.ts';
import { writeWalAgain } from './wal.ts';
import { pragma, rowsOf } from './query.ts';

/** A log of a little more than two portions. */
const ROWS = 600;

function newLog(t: TestContext) {
  const folder = temporaryFolder();
  const file = join(folder, 'store');
  writeFileSync(file, '');
  const database = openAsIs(file);
  t.after(() => {
    database.close();
  });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE rows (x)');
  const add = (rows: number) =>
    database.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
       INSERT INTO rows SELECT randomblob(4000) FROM n`,
    );
  add(ROWS);
  return { file, log: `${file}-wal`, database, add };
}

/** The written ranges and the syncs of this thread, in their order. */
function record(t: TestContext, onSync: () => void = () => undefined): (string | number)[] {
  const events: (string | number)[] = [];
  intercept(t, 'writeSync', (original, descriptor, ...rest) => {
    events.push((rest[0] as unknown as Buffer).length);
    return (original as (...values: unknown[]) => number)(descriptor, ...rest);
  });
  intercept(t, 'fsyncSync', (original, descriptor) => {
    events.push('sync');
    original(descriptor);
    onSync();
  });
  return events;
}

test('every byte of the log that a start finds is written and synced again, while others read and append', (t) => {
  const { file, log, database, add } = newLog(t);
  using reader = new DatabaseSync(file);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM rows').get();
  const found = readFileSync(log);
  let commits = 0;
  // The lock is released between two portions.
  const events = record(t, () => add((commits += 1)));
  using other = new DatabaseSync(file);
  writeWalAgain(other, log);
  const portion = 1024 * 1024;
  const rest = found.length - 2 * portion;
  assert.ok(rest > 0 && rest < portion);
  assert.deepEqual(events, [portion, 'sync', portion, 'sync', rest, 'sync']);
  assert.ok(readFileSync(log).subarray(0, found.length).equals(found));
  assert.deepEqual(rowsOf(database, 'SELECT count(*) FROM rows'), [[BigInt(ROWS + 1 + 2 + 3)]]);
  assert.equal(pragma(database, 'integrity_check'), 'ok');
});

test('a log that another process begins again meanwhile is left to it', (t) => {
  const { file, log, database, add } = newLog(t);
  const events = record(t, () => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    add(1);
  });
  using other = new DatabaseSync(file);
  writeWalAgain(other, log);
  assert.deepEqual(events, [1024 * 1024, 'sync']);
  assert.equal(pragma(database, 'integrity_check'), 'ok');
});

test('an empty log needs neither a write nor a sync', (t) => {
  const { log, database } = newLog(t);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  assert.equal(statSync(log).size, 0);
  const events = record(t);
  writeWalAgain(database, log);
  assert.deepEqual(events, []);
});

test('a log that cannot be synced again is an error, and the next attempt writes all of it again', (t) => {
  const { log, database } = newLog(t);
  let isFailing = true;
  intercept(t, 'fsyncSync', (original, descriptor) => {
    if (isFailing) throw systemError('EIO');
    original(descriptor);
  });
  assert.throws(() => writeWalAgain(database, log), { code: 'EIO' });
  isFailing = false;
  const events = record(t);
  writeWalAgain(database, log);
  assert.equal(
    events.reduce<number>((sum, event) => sum + (typeof event === 'number' ? event : 0), 0),
    statSync(log).size,
  );
});
