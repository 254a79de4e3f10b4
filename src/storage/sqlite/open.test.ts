import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { intercept, systemError } from '../../../harness/file-functions.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { until } from '../../../harness/until.ts';
import { Refusal } from '../../domain/errors.ts';
import type { NewPet } from '../../domain/pet.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { newStoreIdentity } from '../../domain/store-identity.ts';
import { insertIdentity } from '../rows.ts';
import { TABLES } from '../tools/copy.ts';
import { openSqliteReader } from '../tools/sqlite-copy.ts';
import { restoreStore } from '../tools/restore.ts';
import { openSqliteStore, type SqliteOptions } from './store.ts';
import { findStoreIdentity } from './migrate.ts';
import { keepStoreId } from './open.ts';
import { backUpStore } from '../tools/backup.ts';
import { openAsIs, openConnection } from './connection.ts';
import { pragma } from './query.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

const folder = temporaryFolder();

function refused(file: string, reason: RegExp, options: SqliteOptions = {}): void {
  assert.throws(
    () => openSqliteStore(file, options),
    (error: unknown) => {
      assert.ok(error instanceof StoreUnusable);
      assert.match(error.message, reason);
      assert.ok(!error.message.includes('\n'));
      return true;
    },
  );
}

test('the file of a store is created together with its folder', async () => {
  const file = join(folder, 'new', 'folder', 'petstore.sqlite');
  const store = openSqliteStore(file);
  assert.equal((await store.createPet(REX)).kind, 'created');
  await store.close();
});

test('a store that does not exist is not created unless it may be', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  assert.throws(() => openSqliteStore(file, { mayCreate: false }), StoreUnusable);
  assert.deepEqual(await readdir(own), []);
});

test('a log without its database is refused, and both stay as they are', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  await writeFile(`${file}-wal`, 'commits of a store');
  refused(file, /-wal is the log of a store that is not there: move .+ back beside it/);
  assert.deepEqual(await readdir(own), ['petstore.sqlite-wal']);
});

test('a folder that cannot be created is named in the error', async () => {
  await writeFile(join(folder, 'occupied'), '');
  refused(
    join(folder, 'occupied', 'petstore.sqlite'),
    /cannot be opened .*name a data folder that/,
  );
});

test('on a full disk no store is created, and the same start may succeed later', (t) => {
  const file = join(folder, 'full.sqlite');
  intercept(t, 'openSync', () => {
    throw systemError('ENOSPC');
  });
  assert.throws(
    () => openSqliteStore(file),
    (error: unknown) =>
      error instanceof Refusal &&
      error.message === `the store ${file} cannot be opened.` &&
      String(error.cause) === 'Error: the disk is full',
  );
});

test('a folder that another process creates at the same time is used', async (t) => {
  intercept(t, 'mkdirSync', (create, path, ...rest) => {
    create(path, ...rest);
    throw systemError('EEXIST');
  });
  await openSqliteStore(join(folder, 'at', 'once', 'petstore.sqlite')).close();
});

test('a file that is not a database is named in the error', async () => {
  const file = join(folder, 'text.sqlite');
  await writeFile(file, 'no database at all, but long enough to be looked at');
  refused(file, /cannot be opened .*restore a backup, or name another data folder/);
});

test("another program's database is refused and not changed", () => {
  const file = join(folder, 'other.sqlite');
  const other = new DatabaseSync(file);
  other.exec('CREATE TABLE guests (name TEXT)');
  refused(file, /belongs to another program/);
  assert.deepEqual(other.prepare('SELECT name FROM sqlite_schema').all().length, 1);
  other.close();
});

for (const [what, sql] of [
  ['a version', 'PRAGMA user_version = 7'],
  ['an id', 'PRAGMA application_id = 7'],
] as const) {
  test(`an empty database with ${what} of another program is refused`, () => {
    const file = join(folder, `with ${what}.sqlite`);
    const other = new DatabaseSync(file);
    other.exec(sql);
    other.close();
    refused(file, /belongs to another program/);
  });
}

for (const sql of ['CREATE TABLE guests (name TEXT)', 'PRAGMA user_version = 7']) {
  test(`another program's database is refused also while only its log tells: ${sql}`, async () => {
    const file = join(temporaryFolder(), 'petstore.sqlite');
    using other = new DatabaseSync(file);
    other.exec(`PRAGMA journal_mode = WAL; ${sql}`);
    refused(file, /belongs to another program/);
  });
}

for (const mode of ['delete', 'wal']) {
  test(`another program's database in journal mode ${mode} is not changed by a byte, neither as a store nor as a source`, async () => {
    const own = temporaryFolder();
    const file = join(own, 'petstore.sqlite');
    const other = new DatabaseSync(file);
    other.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE guests (name TEXT)`);
    other.close();
    const bytes = await readFile(file);
    refused(file, /belongs to another program/);
    assert.throws(() => openSqliteReader(file), StoreUnusable);
    assert.ok((await readFile(file)).equals(bytes));
    assert.deepEqual(await readdir(own), ['petstore.sqlite']);
  });
}

test('a backup that is copied from keeps its journal mode', async () => {
  const own = temporaryFolder();
  const store = openSqliteStore(join(own, 'petstore.sqlite'));
  await store.createPet(REX);
  await store.close();
  const file = join(own, 'backup.sqlite');
  const database = new DatabaseSync(join(own, 'petstore.sqlite'));
  database.prepare('VACUUM INTO ?').run(file);
  database.close();
  const bytes = await readFile(file);
  const source = openSqliteReader(file);
  assert.equal(await source.count(TABLES.animals), 1);
  await source.close();
  assert.ok((await readFile(file)).equals(bytes));
});

test('a catalogue is read as it was when it was opened', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  const store = openSqliteStore(file);
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

test('no other user may read the store, whatever the mode of its folder and the umask', async () => {
  const own = temporaryFolder();
  await chmod(own, 0o755);
  const file = join(own, 'petstore.sqlite');
  const umask = process.umask(0);
  const store = openSqliteStore(file, SERVE);
  process.umask(umask);
  await store.createPet(REX);
  // The id beside the store is no secret.
  assert.deepEqual(await modesIn(own), { ...OWNER_ONLY, 'petstore.store-id': '644' });
  await store.close();
});

test('a store that others can read is restricted to its owner when it is opened, with its log', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  const first = openSqliteStore(file);
  await first.createPet(REX);
  for (const name of Object.keys(OWNER_ONLY)) await chmod(join(own, name), 0o644);
  const second = openSqliteStore(file);
  assert.deepEqual(await modesIn(own), OWNER_ONLY);
  await first.close();
  await second.close();
});

test('a store whose mode this user may not change is refused', async (t) => {
  const file = join(folder, 'shared.sqlite');
  await openSqliteStore(file).close();
  await chmod(file, 0o640);
  intercept(t, 'chmodSync', () => {
    throw systemError('EPERM');
  });
  refused(
    file,
    /cannot be opened \(EPERM: failed\): name a data folder that this user can write to/,
  );
});

test('of two processes that create a store at once, one does it, and both open it', async (t) => {
  const file = join(folder, 'race.sqlite');
  const execute = Reflect.get(DatabaseSync.prototype, 'exec');
  let isFirst = true;
  let other: ReturnType<typeof openSqliteStore> | undefined;
  // Between its first look at the schema and its lock, the other one migrates.
  t.mock.method(DatabaseSync.prototype, 'exec', function begin(this: DatabaseSync, sql: string) {
    if (sql.startsWith('BEGIN IMMEDIATE') && isFirst) {
      isFirst = false;
      other = openSqliteStore(file);
    }
    return execute.call(this, sql);
  });
  const store = openSqliteStore(file);
  assert.ok(other !== undefined);
  assert.equal((await store.createPet(REX)).kind, 'created');
  assert.equal((await other.createPet(REX)).kind, 'created');
  await store.close();
  await other.close();
});

test('a log that has grown is truncated while the store is open', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  const store = openSqliteStore(file);
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

const PRODUCTION = newStoreIdentity('production', { now: new Date(0), randomBytes });
const STAGING = newStoreIdentity('staging', { now: new Date(0), randomBytes });
/** What `serve` asks for. */
const SERVE = { environment: PRODUCTION.environment, identity: PRODUCTION };
/** What a command asks for. */
const COMMAND = { environment: PRODUCTION.environment, mayCreate: false, mayMigrate: false };

function identityIn(file: string) {
  const database = openAsIs(file);
  try {
    return findStoreIdentity(database);
  } finally {
    database.close();
  }
}

test('a store gets an identity when it is created, and keeps it', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  await openSqliteStore(file, SERVE).close();
  assert.match(PRODUCTION.id, /^[0-9A-Za-z]{16}$/);
  assert.deepEqual(identityIn(file), PRODUCTION);
  const later = newStoreIdentity('production', { now: new Date(), randomBytes });
  await openSqliteStore(file, { ...SERVE, identity: later }).close();
  assert.deepEqual(identityIn(file), PRODUCTION);
});

test('of several processes that create a store at once, one gives it its identity', async () => {
  const file = join(folder, 'at-once.sqlite');
  await openSqliteStore(file, SERVE).close();
  // As a process does that has waited for the transaction of another one, and finds nothing left to migrate.
  using database = openAsIs(file);
  database.exec(insertIdentity(newStoreIdentity('production', { now: new Date(), randomBytes })));
  assert.deepEqual(findStoreIdentity(database), PRODUCTION);
});

test('a store of another environment is refused, and both environments are named', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  await openSqliteStore(file, { environment: 'staging', identity: STAGING }).close();
  const reason =
    /petstore\.sqlite is a staging store, and the environment is production: set --env or PETSTORE_ENV to staging, or name another data folder\.$/;
  refused(file, reason, SERVE);
  refused(file, reason, COMMAND);
});

test('a file of 0 bytes is no store for a command, and the service completes it', async () => {
  const file = join(temporaryFolder(), 'petstore.sqlite');
  await writeFile(file, '');
  refused(file, /^there is no store at .*petstore\.sqlite: name another place, /, COMMAND);
  assert.equal((await stat(file)).size, 0);
  await openSqliteStore(file, SERVE).close();
  assert.deepEqual(identityIn(file), PRODUCTION);
});

test('a start never makes an empty store where one was: the id beside it is refused with its name', async () => {
  const own = temporaryFolder();
  const file = join(own, 'petstore.sqlite');
  await openSqliteStore(file, SERVE).close();
  assert.equal(await readFile(join(own, 'petstore.store-id'), 'utf8'), `${PRODUCTION.id}\n`);
  const lost = {
    name: 'StoreFault',
    message: `store ${PRODUCTION.id} was here and its file is missing: restore a backup, or remove ${join(own, 'petstore.store-id')} to begin a new one.`,
  };
  await rm(file);
  // The service, its workers, and a command with --create.
  for (const options of [SERVE, { ...SERVE, mayCreate: false }, { ...SERVE, mayMigrate: false }]) {
    assert.throws(() => openSqliteStore(file, options), lost);
    assert.deepEqual(await readdir(own), ['petstore.store-id']);
  }
  // A file that was emptied is missing too.
  await writeFile(file, '');
  assert.throws(() => openSqliteStore(file, SERVE), lost);
  await rm(file);
  await rm(join(own, 'petstore.store-id'));
  await openSqliteStore(file, SERVE).close();
});

test('an id that is missing or empty beside the store is written again, and another one is refused', async () => {
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
  keepStoreId(file, STAGING);
  assert.throws(() => openSqliteStore(file, options), {
    name: 'StoreFault',
    message: `${file} is store ${PRODUCTION.id}, and store ${STAGING.id} was here: put the right file in place, restore a backup, or remove ${idFile} to use this one.`,
  });
  assert.equal(await readFile(idFile, 'utf8'), `${STAGING.id}\n`);
});

for (const [what, empty] of [
  ['whose log is lost', (file: string) => rm(`${file}-wal`)],
  ['that was replaced by an empty one', replaceByEmpty],
] as const) {
  test(`a start never begins an empty catalogue in a file ${what}: it names what is missing, and restore replaces it`, async () => {
    const own = temporaryFolder();
    const file = join(own, 'petstore.sqlite');
    const backup = join(own, 'backup.sqlite');
    const idFile = join(own, 'petstore.store-id');
    const killed = openSqliteStore(file, SERVE);
    await killed.createPet(REX);
    await backUpStore(file, backup, {});
    // As after kill -9: everything is still in the log.
    const [database, log] = await Promise.all([readFile(file), readFile(`${file}-wal`)]);
    await killed.close();
    await Promise.all([writeFile(file, database), writeFile(`${file}-wal`, log)]);
    await empty(file);
    for (const options of [SERVE, { ...SERVE, mayMigrate: false }]) {
      assert.throws(() => openSqliteStore(file, options), {
        name: 'StoreFault',
        message: `store ${PRODUCTION.id} was here, and ${file} has no catalogue: put the right file in place with its log ${file}-wal, restore a backup, or remove ${idFile} to begin a new one.`,
      });
    }
    assert.equal(await readFile(idFile, 'utf8'), `${PRODUCTION.id}\n`);
    await restoreStore(file, backup, { idsAbove: 100n });
    const restored = openSqliteStore(file, SERVE);
    assert.deepEqual(await restored.findPet(1n), { ...REX, id: 1n });
    await restored.close();
  });
}

async function replaceByEmpty(file: string): Promise<void> {
  await rm(file);
  await rm(`${file}-wal`);
  using database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL');
}

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
  const store = openSqliteStore(file);
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
  const store = openSqliteStore(file);
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
  const store = openSqliteStore(file);
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
