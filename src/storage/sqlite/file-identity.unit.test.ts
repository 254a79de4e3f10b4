import assert from 'node:assert/strict';
import { readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { findIdentity, freeName, isSame, requireInPlace, setLogAside } from './file-identity.ts';

const SUFFIXES = ['', '-wal', '-shm'];

/** A folder with the files of a database, as far as their identity matters. */
function newFiles(t: TestContext, suffixes = SUFFIXES) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'store');
  for (const suffix of suffixes) writeFileSync(`${file}${suffix}`, 'opened');
  const connection = new DatabaseSync(':memory:', { readBigInts: true, returnArrays: true });
  t.after(() => connection.close());
  const opened = findIdentity(file) ?? assert.fail('the file is there');
  /** A file that takes the place of another one has a number of its own. */
  const replace = (suffix: string) => {
    writeFileSync(join(folder, 'other'), 'other');
    renameSync(join(folder, 'other'), `${file}${suffix}`);
  };
  return { file, opened, connection, replace, names: () => readdirSync(folder).toSorted() };
}

test('a file is the same if its number and its disk are', () => {
  const one = { dev: 1n, ino: 2n, size: 4n };
  assert.equal(isSame(one, { ...one }), true);
  assert.equal(isSame(one, { ...one, ino: 4n }), false);
  assert.equal(isSame(one, { ...one, dev: 4n }), false);
  assert.equal(isSame(one, undefined), false);
  assert.equal(isSame(undefined, one), false);
  assert.equal(isSame(undefined, undefined), false);
});

for (const suffix of SUFFIXES) {
  test(`a database is in its place until store${suffix} is deleted or replaced`, (t) => {
    const { file, opened, connection, replace } = newFiles(t);
    requireInPlace(opened, connection);
    replace(suffix);
    const lost = {
      name: 'FileReplaced',
      message: `${file}${suffix} was deleted or replaced: put the right file in place, and start the service again.`,
    };
    assert.throws(() => requireInPlace(opened, connection), lost);
    rmSync(`${file}${suffix}`);
    assert.throws(() => requireInPlace(opened, connection), lost);
  });
}

test('a database without a log is in its place until a log appears', (t) => {
  const { opened, connection, replace } = newFiles(t, ['']);
  requireInPlace(opened, connection);
  replace('-wal');
  assert.throws(() => requireInPlace(opened, connection), { name: 'FileReplaced' });
});

test('a database that has grown and is then smaller was truncated, unless SQLite counts fewer pages; a log may become smaller', (t) => {
  const { file, opened, connection } = newFiles(t);
  connection.exec('CREATE TABLE rows (x); INSERT INTO rows VALUES (randomblob(20000))');
  truncateSync(file, 20_000);
  requireInPlace(opened, connection);
  truncateSync(`${file}-wal`, 0);
  requireInPlace(opened, connection);
  truncateSync(file, 19_999);
  assert.throws(() => requireInPlace(opened, connection), { name: 'FileTruncated' });
  connection.exec('DELETE FROM rows');
  assert.throws(() => requireInPlace(opened, connection), { name: 'FileTruncated' });
  connection.exec('VACUUM');
  requireInPlace(opened, connection);
  connection.close();
  truncateSync(file, 0);
  assert.throws(() => requireInPlace(opened, connection), { name: 'FileTruncated' });
  connection.open();
});

test('a log is set aside only where its database is no more', (t) => {
  const { file, opened, replace, names } = newFiles(t);
  setLogAside(opened);
  assert.deepEqual(names(), ['store', 'store-shm', 'store-wal']);
  replace('');
  writeFileSync(`${file}-wal.replaced-1`, 'of an earlier time');
  setLogAside(opened);
  const setAside = ['store-shm.replaced-1', 'store-wal.replaced-1', 'store-wal.replaced-2'];
  assert.deepEqual(names(), ['store', ...setAside]);
});

test('a log that another process has begun stays in its place', (t) => {
  const { opened, replace, names } = newFiles(t);
  for (const suffix of SUFFIXES) replace(suffix);
  setLogAside(opened);
  assert.deepEqual(names(), ['store', 'store-shm', 'store-wal']);
});

test('a free name has the first number that no file has', (t) => {
  const { file } = newFiles(t);
  assert.equal(freeName(file), `${file}-1`);
  for (const number of [1, 2]) writeFileSync(`${file}-${number}`, '');
  assert.equal(freeName(file), `${file}-3`);
});
