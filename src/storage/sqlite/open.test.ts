import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { intercept, systemError } from '../../../harness/file-functions.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { until } from '../../../harness/until.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { Refusal } from '../../domain/errors.ts';
import type { NewPet } from '../../domain/pet.ts';
import { StoreUnusable } from '../../domain/store.ts';
import {
  COMMAND,
  IDENTITIES,
  LATER,
  OPENERS,
  openContract,
  PRODUCTION,
  SERVE,
} from '../open.contract.ts';
import { TABLES } from '../tools/copy.ts';
import { openSqliteReader } from '../tools/sqlite-copy.ts';
import { restoreStore } from '../tools/restore.ts';
import { openSqliteStore, type SqliteOptions } from './store.ts';
import { keepStoreId } from './open.ts';
import { backUpStore } from '../tools/backup.ts';
import { openConnection } from './connection.ts';
import { pragma } from './query.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

const folder = temporaryFolder();

function refused(file: string, reason: RegExp, options: SqliteOptions = NEW_STORE): void {
  assert.throws(
    () => openSqliteStore(file, options),
    (error) =>
      error instanceof StoreUnusable && reason.test(error.message) && !error.message.includes('\n'),
  );
}

openContract('SQLite', {
  async newPlace(hasStore, sql = '') {
    const file = join(temporaryFolder(), 'petstore.sqlite');
    if (hasStore) await openSqliteStore(file, SERVE).close();
    if (sql !== '') execute(file, sql).close();
    return {
      open: async (access) => openSqliteStore(file, access),
      query: async (text) => rowsIn(file, text),
      contents: () => contentsBeside(file),
    };
  },
  setVersion: (version) => `PRAGMA user_version = ${version}`,
});

function execute(file: string, sql: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec(sql);
  return database;
}

function rowsIn(file: string, sql: string): unknown[] {
  using database = new DatabaseSync(file);
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement.all();
}

/** The names of what is in the folder of a store, and the bytes of its database. */
async function contentsBeside(file: string): Promise<unknown[]> {
  const bytes = existsSync(file) ? await readFile(file, 'latin1') : undefined;
  return [await readdir(dirname(file)), bytes];
}

const OTHER_PROGRAM = /belongs to another program/;
const GUESTS = 'CREATE TABLE guests (name TEXT)';
const text = (suffix: string, content: string) => (file: string) =>
  writeFile(`${file}${suffix}`, content);
const closed = (sql: string) => (file: string) => execute(file, sql).close();
/** While the other program is running, only its log may have what it wrote. */
const open = (sql: string) => (file: string) => execute(file, `PRAGMA journal_mode = WAL; ${sql}`);
for (const [what, put, reason] of [
  [
    'a log alone',
    text('-wal', 'commits'),
    /-wal is the log of a store that is not .*: move .+ back/,
  ],
  [
    'a text',
    text('', 'A long text. '.repeat(9)),
    /cannot be opened .*restore a backup, or name an/,
  ],
  ['a version of another program', closed('PRAGMA user_version = 7'), OTHER_PROGRAM],
  ['an id of another program', closed('PRAGMA application_id = 7'), OTHER_PROGRAM],
  ['a table', closed(GUESTS), OTHER_PROGRAM],
  ['a table in WAL mode', closed(`PRAGMA journal_mode = WAL; ${GUESTS}`), OTHER_PROGRAM],
  ['a table in the log', open(GUESTS), OTHER_PROGRAM],
  ['a version in the log', open('PRAGMA user_version = 7'), OTHER_PROGRAM],
] as const) {
  test(`${what} is refused as a store and as a source, and not changed by a byte`, async () => {
    const file = join(temporaryFolder(), 'petstore.sqlite');
    using _ = (await put(file)) ?? undefined;
    const before = await contentsBeside(file);
    refused(file, reason);
    assert.throws(() => openSqliteReader(file), /^Store|is damaged/);
    assert.deepEqual(await contentsBeside(file), before);
  });
}

test('a folder that cannot be created is named in the error', async () => {
  await writeFile(join(folder, 'occupied'), '');
  const file = join(folder, 'occupied', 'petstore.sqlite');
  refused(file, /cannot be opened .*name a data folder that/);
});

test('on a full disk no store is created, and the same start may succeed later', (t) => {
  const file = join(folder, 'full.sqlite');
  intercept(t, 'openSync', () => {
    throw systemError('ENOSPC');
  });
  assert.throws(
    () => openSqliteStore(file, NEW_STORE),
    (error: unknown) =>
      error instanceof Refusal &&
      error.message === `the store ${file} cannot be opened.` &&
      String(error.cause) === 'Error: the disk is full',
  );
});

test('the folders of a store are created with it', async () => {
  const store = openSqliteStore(join(folder, 'new', 'folder', 'petstore.sqlite'), NEW_STORE);
  assert.equal((await store.createPet(REX)).kind, 'created');
  await store.close();
});

test('a backup that is copied from keeps its journal mode', async () => {
  const own = temporaryFolder();
  const store = openSqliteStore(join(own, 'petstore.sqlite'), NEW_STORE);
  await store.createPet(REX);
  await store.close();
  const file = join(own, 'backup.sqlite');
  execute(join(own, 'petstore.sqlite'), `VACUUM INTO '${file}'`).close();
  const bytes = await readFile(file);
  const source = openSqliteReader(file);
  assert.equal(await source.count(TABLES.animals), 1);
  await source.close();
  assert.ok((await readFile(file)).equals(bytes));
});

test('a catalogue is read as it was when it was opened', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  await store.createPet(REX);
  const source = openSqliteReader(file);
  await store.createPet(REX);
  assert.equal(await source.count(TABLES.animals), 1);
  assert.equal(await source.lastId(), 1n);
  await source.close();
  await store.close();
});

/** The names and modes of what is in a folder. */
async function modesIn(path: string): Promise<Record<string, string>> {
  const modes: Record<string, string> = {};
  for (const name of await readdir(path)) {
    modes[name] = ((await stat(join(path, name))).mode & 0o777).toString(8);
  }
  return modes;
}

const OWNER_ONLY = {
  'petstore.sqlite': '600',
  'petstore.sqlite-shm': '600',
  'petstore.sqlite-wal': '600',
};
/** The id beside the store is no secret. */
const MODES = { ...OWNER_ONLY, 'petstore.store-id': '644' };

test('no other user may read the store, whatever the mode of its folder and the umask', async () => {
  const own = temporaryFolder();
  await chmod(own, 0o755);
  const file = join(own, 'petstore.sqlite');
  const umask = process.umask(0);
  const store = openSqliteStore(file, SERVE);
  process.umask(umask);
  await store.createPet(REX);
  assert.deepEqual(await modesIn(own), MODES);
  await store.close();
});

test('a store that others can read is restricted to its owner when it is opened, with its log', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  const first = openSqliteStore(file, NEW_STORE);
  await first.createPet(REX);
  for (const name of Object.keys(OWNER_ONLY)) await chmod(join(own, name), 0o644);
  const second = openSqliteStore(file, NEW_STORE);
  assert.deepEqual(await modesIn(own), MODES);
  await first.close();
  await second.close();
});

test('a store whose mode this user may not change is refused', async (t) => {
  const file = join(folder, 'shared.sqlite');
  await openSqliteStore(file, NEW_STORE).close();
  await chmod(file, 0o640);
  intercept(t, 'chmodSync', () => {
    throw systemError('EPERM');
  });
  refused(
    file,
    /cannot be opened \(EPERM: failed\): name a data folder that this user can write to/,
  );
});

test('of two processes that create a store at once, one does it and gives it its identity, and both open it', async (t) => {
  const file = join(folder, 'race.sqlite');
  const exec = Reflect.get(DatabaseSync.prototype, 'exec');
  let isFirst = true;
  let other: ReturnType<typeof openSqliteStore> | undefined;
  // Between its first look at the schema and its lock, the other one migrates.
  t.mock.method(DatabaseSync.prototype, 'exec', function begin(this: DatabaseSync, sql: string) {
    if (sql.startsWith('BEGIN IMMEDIATE') && isFirst) {
      isFirst = false;
      other = openSqliteStore(file, SERVE);
    }
    return exec.call(this, sql);
  });
  const store = openSqliteStore(file, { ...SERVE, identity: LATER });
  assert.ok(other !== undefined);
  assert.deepEqual(rowsIn(file, IDENTITIES), [[PRODUCTION.id, 'production', 0]]);
  assert.equal((await store.createPet(REX)).kind, 'created');
  assert.equal((await other.createPet(REX)).kind, 'created');
  await store.close();
  await other.close();
});

test('a log that has grown is truncated while the store is open', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  const logBytes = async () => (await stat(`${file}-wal`)).size;
  // An open read transaction prevents SQLite from reusing the log.
  const reader = new DatabaseSync(file);
  reader.exec('BEGIN');
  reader.prepare('SELECT 1 FROM pets').get();
  const many = Array.from({ length: 20_000 }, () => ({ ...REX, name: 'R'.repeat(255) }));
  while ((await logBytes()) < 24 * 1024 * 1024) await store.importPets(many);
  reader.exec('COMMIT');
  reader.close();
  for (let index = 0; (await logBytes()) > 16 * 1024 * 1024; index += 1) {
    assert.ok(index < 1_000, 'it is truncated under load');
    await store.createPet(REX);
  }
  await until('it is emptied when nothing is written', async () => (await logBytes()) === 0);
  const late = new DatabaseSync(file);
  late.exec('BEGIN');
  late.prepare('SELECT 1 FROM pets').get();
  await store.createPet(REX);
  // Longer than the pause after which the log is emptied: the first attempt finds the reader.
  await sleep(1_500);
  late.close();
  await until('it is emptied after a reader too', async () => (await logBytes()) === 0);
  await store.close();
});

test('a file of 0 bytes is no store for a command, and the service completes it', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  await writeFile(file, '');
  refused(file, /^there is no store at .*petstore\.sqlite: name another place, /, COMMAND);
  assert.equal((await stat(file)).size, 0);
  await openSqliteStore(file, SERVE).close();
  assert.deepEqual(rowsIn(file, IDENTITIES), [[PRODUCTION.id, 'production', 0]]);
});

test('an id that is missing or empty beside the store is written again', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  const idFile = join(own, 'petstore.store-id');
  const warnings: string[] = [];
  const options = { ...SERVE, onWarning: (message: string) => warnings.push(message) };
  await openSqliteStore(file, options).close();
  await rm(idFile);
  await openSqliteStore(file, COMMAND).close();
  assert.deepEqual(await readdir(own), ['petstore.sqlite'], 'a command does not write it');
  // A loss of power may leave the name of the file without its content.
  await writeFile(idFile, '');
  await openSqliteStore(file, options).close();
  assert.equal(await readFile(idFile, 'utf8'), `${PRODUCTION.id}\n`);
  assert.deepEqual(warnings, []);
});

const idFileOf = (file: string) => file.replace('.sqlite', '.store-id');
const removeStore = (file: string) => Promise.all([file, `${file}-wal`].map((path) => rm(path)));

describe('where a store was, nobody begins another: the way back and the way on are named, and work', () => {
  for (const [what, replace, found] of [
    ['nothing', removeStore, 'is missing'],
    ['a file of 0 bytes', (file: string) => writeFile(file, ''), 'is missing'],
    ['a file whose log is lost', (file: string) => rm(`${file}-wal`), 'has no catalogue'],
    [
      'an empty database',
      async (file: string) => {
        await removeStore(file);
        execute(file, 'PRAGMA journal_mode = WAL').close();
      },
      'has no catalogue',
    ],
    [
      'another store',
      async (file: string) => {
        await Promise.all([removeStore(file), rm(idFileOf(file))]);
        await openSqliteStore(file, { ...SERVE, identity: LATER }).close();
        keepStoreId(file, PRODUCTION);
      },
      `is store ${LATER.id}`,
    ],
  ] as const) {
    test(`${what} is there`, async () => {
      const file = join(temporaryFolder(), 'petstore.sqlite');
      const backup = `${file}.backup`;
      const killed = openSqliteStore(file, SERVE);
      await killed.createPet(REX);
      await backUpStore(file, backup, {});
      // As after kill -9: everything is still in the log.
      const [database, log] = await Promise.all([readFile(file), readFile(`${file}-wal`)]);
      await killed.close();
      await Promise.all([writeFile(file, database), writeFile(`${file}-wal`, log)]);
      await replace(file);
      const before = await contentsBeside(file);
      const message = `store ${PRODUCTION.id} was here, and ${file} ${found}: put the right file in place with its log, restore a backup, or remove ${idFileOf(file)} to go on without it.`;
      for (const access of OPENERS) {
        assert.throws(() => openSqliteStore(file, access), { name: 'StoreFault', message });
      }
      assert.deepEqual(await contentsBeside(file), before);
      assert.equal(await readFile(idFileOf(file), 'utf8'), `${PRODUCTION.id}\n`);
      await restoreStore(file, backup, { idsAbove: 100n });
      const restored = openSqliteStore(file, SERVE);
      assert.deepEqual(await restored.findPet(1n), { ...REX, id: 1n });
      await restored.close();
      await rm(`${file}-wal`, { force: true });
      await Promise.all([writeFile(file, database), writeFile(`${file}-wal`, log)]);
      await replace(file);
      await rm(idFileOf(file));
      await openSqliteStore(file, SERVE).close();
    });
  }
});

test('an id that cannot be written beside the store is one warning, and the store opens', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  const warnings: string[] = [];
  await openSqliteStore(file, SERVE).close();
  await rm(join(own, 'petstore.store-id'));
  await mkdir(join(own, 'petstore.store-id'));
  const onWarning = (message: string) => warnings.push(message);
  await openSqliteStore(file, { ...SERVE, onWarning }).close();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^the id of the store cannot be written beside it \(.*EISDIR/);
});

test('a connection syncs every commit, and not only the checkpoints', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  await writeFile(file, '');
  using database = openConnection(file);
  // 2 is FULL. That a power cut loses nothing is the drill power-cut.
  assert.equal(pragma(database, 'synchronous'), 2n);
});

test('while another program locks the file, every write is refused in time and reads continue', async () => {
  await mkdir(join(folder, 'locked'));
  const file = join(folder, 'locked', 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  await store.createPet(REX);
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const began = performance.now();
  const settled = Promise.allSettled(Array.from({ length: 50 }, () => store.createPet(REX)));
  assert.deepEqual(await store.findPet(1n), { ...REX, id: 1n });
  for (const result of await settled) {
    assert.equal(result.status, 'rejected');
    assert.equal((result.reason as { code?: string }).code, 'unavailable');
  }
  // One after the other they would take minutes.
  const tookMs = performance.now() - began;
  assert.ok(tookMs < 30_000, `they took ${tookMs} ms`);
  other.exec('ROLLBACK');
  other.close();
  const created = await store.createPet(REX);
  assert.deepEqual(created, { kind: 'created', pet: { ...REX, id: 2n } });
  await store.close();
});

test('a write that waits behind one that fails is refused with it, and is not tried by itself', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  await store.createPet(REX);
  using other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const create = () =>
    store.createPet(REX).then(
      () => 'stored',
      ({ cause }: Refusal) => String(cause),
    );
  const first = create();
  // The first is sent at the end of this turn of the event loop.
  for (let count = 0; count < 5; count += 1) await turn();
  const second = create();
  const cause = await first;
  other.exec('ROLLBACK');
  assert.match(cause, /locked/);
  // Not with a cause of its own, such as too little time.
  assert.equal(await second, cause);
  await store.close();
});

test('a store that was idle waits for a short lock of another program, as a busy one does', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  await store.createPet(REX);
  // The log of an idle store is emptied after a second, for which it must not wait.
  while ((await stat(`${file}-wal`)).size > 0) await sleep(50);
  using other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const created = store.createPet(REX);
  await sleep(300);
  other.exec('ROLLBACK');
  assert.equal((await created).kind, 'created');
  await store.close();
});
