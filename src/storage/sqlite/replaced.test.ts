// The file is deleted, replaced, moved or damaged while a store has it open.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { intercept, systemError } from '../../../harness/file-functions.ts';
import { listPets } from '../../../harness/list-pets.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { until } from '../../../harness/until.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import type { Refusal } from '../../domain/errors.ts';
import type { Store } from '../../domain/store.ts';
import { openSqliteStore } from './store.ts';

interface Subject {
  folder: string;
  file: string;
  store: Store;
  /** The reasons why the store has failed. */
  failures: string[];
}

async function open(t: TestContext): Promise<Subject> {
  const root = temporaryFolder();
  const file = join(root, 'store', 'petstore.sqlite');
  const failures: string[] = [];
  const store = openSqliteStore(file, { ...NEW_STORE, onFatal: (reason) => failures.push(reason) });
  t.after(async () => {
    await store.close();
  });
  return { folder: dirname(file), file, store, failures };
}

function create(store: Store, name: string) {
  return store.createPet({ name, categoryId: 1n, status: 'available' });
}

async function namesOf(store: Store): Promise<string[]> {
  const pets = await listPets(store, { status: undefined, afterId: 0n, count: 1_000 });
  return pets.map(({ name }) => name);
}

/** A good store with these animals, in one file that needs no log. */
async function newSpare(folder: string, names: readonly string[]): Promise<string> {
  const made = join(folder, '..', `made-${randomBytes(4).toString('hex')}.sqlite`);
  const store = openSqliteStore(made, NEW_STORE);
  for (const name of names) await create(store, name);
  await store.close();
  return made;
}

async function refused(call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error: Refusal) => error.code === 'unavailable');
}

async function allRefused(store: Store): Promise<void> {
  await refused(create(store, 'lost'));
  await refused(namesOf(store));
  await refused(store.ping());
}

/** What is in a file when it is opened with whatever log lies beside it, as at a start. */
function contentOf(file: string): { soundness: unknown; names: unknown[] } {
  const database = new DatabaseSync(file);
  const soundness = database.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  const rows = database.prepare('SELECT name FROM pets ORDER BY id').all();
  database.close();
  return { soundness, names: rows.map(({ name }) => name) };
}

const setAsideIn = (folder: string) =>
  readdirSync(folder).filter((name) => name.includes('-wal.replaced-'));

test('once the file is deleted every call is refused, the failure is reported once, and the log is set aside', async (t) => {
  const { folder, file, store, failures } = await open(t);
  await create(store, 'before');
  rmSync(file);
  await refused(create(store, 'lost'));
  await until('reported', () => failures.length > 0);
  await allRefused(store);
  assert.ok(!existsSync(file), 'no empty file takes its place');
  await store.close();
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /petstore\.sqlite was deleted or replaced/);
  assert.equal(setAsideIn(folder).length, 1);
  assert.ok(!existsSync(`${file}-wal`));
});

test('a store that nobody uses finds within seconds that its file was replaced', async (t) => {
  const { folder, file, failures } = await open(t);
  renameSync(await newSpare(folder, []), file);
  await until('reported', () => failures.length > 0);
});

test('a file that takes the place of the store gets nothing of it, and nothing of its log', async (t) => {
  const { folder, file, store } = await open(t);
  const spare = await newSpare(folder, ['spare']);
  for (let index = 0; index < 50; index += 1) await create(store, `old ${index}`);
  renameSync(spare, file);
  await refused(create(store, 'lost'));
  await until('refused', async () => (await namesOf(store).catch(() => undefined)) === undefined);
  await allRefused(store);
  await store.close();
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['spare'] });
  assert.equal(setAsideIn(folder).length, 1);
});

test('a store that is stopped right after its file was replaced leaves no log beside the new file', async (t) => {
  const { folder, file, store } = await open(t);
  const spare = await newSpare(folder, ['spare']);
  for (let index = 0; index < 50; index += 1) await create(store, `old ${index}`);
  renameSync(spare, file);
  await store.close();
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['spare'] });
});

test('a log that cannot be set aside is one warning, and the store is closed', async (t) => {
  const { file, store } = await open(t);
  const warnings: string[] = [];
  const second = openSqliteStore(file, {
    ...NEW_STORE,
    onWarning: (message) => warnings.push(message),
  });
  await create(store, 'one');
  rmSync(file);
  intercept(t, 'renameSync', () => {
    throw systemError('EACCES');
  });
  await second.close();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^the log beside \S+petstore\.sqlite may be of another file: /);
});

test('a file that is moved away has lost nothing, wherever it is opened again', async (t) => {
  const { file, store } = await open(t);
  await create(store, 'one');
  renameSync(file, `${file}.away`);
  await refused(create(store, 'lost'));
  await store.close();
  const { soundness, names } = contentOf(`${file}.away`);
  // A create that was refused may have been stored.
  assert.deepEqual([soundness, names[0]], ['ok', 'one']);
});

test("another program's file in the place of the store stays as it is", async (t) => {
  const { folder, file, store } = await open(t);
  const other = join(folder, '..', 'other.sqlite');
  const database = new DatabaseSync(other);
  database.exec('CREATE TABLE guests (name TEXT)');
  database.close();
  const bytes = readFileSync(other);
  await create(store, 'one');
  renameSync(other, file);
  await refused(create(store, 'lost'));
  await store.close();
  assert.ok(readFileSync(file).equals(bytes));
  assert.ok(!existsSync(`${file}-wal`));
});

test('when only the log is deleted, nothing that was acknowledged is lost', async (t) => {
  const { file, store, failures } = await open(t);
  await create(store, 'one');
  rmSync(`${file}-wal`);
  await refused(create(store, 'lost'));
  await until('reported', () => failures.length > 0);
  await store.close();
  const { soundness, names } = contentOf(file);
  assert.deepEqual([soundness, names[0]], ['ok', 'one']);
});

test('of several stores on one file all fail, and a log that is started meanwhile stays in its place', async (t) => {
  const { folder, file, store, failures } = await open(t);
  const second = openSqliteStore(file, {
    ...NEW_STORE,
    onFatal: (reason) => failures.push(reason),
  });
  t.after(() => second.close());
  const spare = await newSpare(folder, ['spare']);
  await create(store, 'one');
  await create(second, 'two');
  renameSync(spare, file);
  await until('both have failed', () => failures.length === 2);
  await store.close();
  const third = openSqliteStore(file, NEW_STORE);
  t.after(() => third.close());
  await create(third, 'three');
  await second.close();
  await create(third, 'four');
  assert.deepEqual(await namesOf(third), ['spare', 'three', 'four']);
  await third.close();
  assert.equal(setAsideIn(folder).length, 1);
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['spare', 'three', 'four'] });
});

for (const [what, damage] of [
  ['pages', (file: string) => overwrite(file, 4_096)],
  ['the whole content', (file: string) => overwrite(file, 0)],
] as const) {
  test(`a damaged file (${what}) is marked; the next start refuses it, and serves it without the mark once it is intact`, async (t) => {
    const { file, store, failures } = await open(t);
    for (let index = 0; index < 200; index += 1) await create(store, `animal ${index}`);
    await store.close();
    const intact = readFileSync(file);
    const damaged = openSqliteStore(file, {
      ...NEW_STORE,
      onFatal: (reason) => failures.push(reason),
    });
    t.after(() => damaged.close());
    await create(damaged, 'before');
    damage(file);
    await until('reported', async () => {
      await namesOf(damaged).catch(() => undefined);
      return failures.length > 0;
    });
    assert.equal(failures.length, 1);
    assert.match(
      failures[0] ?? '',
      /petstore\.sqlite may be damaged \(.+\): start the service again/,
    );
    await allRefused(damaged);
    await damaged.close();
    for (let start = 0; start < 2; start += 1) {
      assert.throws(() => openSqliteStore(file, NEW_STORE), {
        name: 'StoreFault',
        message: /is damaged \(.+\): restore a backup, or repair it until petstore verify finds /,
      });
      assert.ok(existsSync(`${file}.damaged`));
    }

    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    writeFileSync(file, intact);
    const again = openSqliteStore(file, NEW_STORE);
    t.after(() => again.close());
    assert.equal((await namesOf(again)).length, 200);
    assert.ok(!existsSync(`${file}.damaged`));
  });
}

test('a file that was replaced is not called damaged, also if SQLite finds it malformed first', async (t) => {
  const { file, store, failures } = await open(t);
  for (let index = 0; index < 200; index += 1) await create(store, `animal ${index}`);
  await until('the log is empty', () => statSync(`${file}-wal`).size === 0);
  writeFileSync(`${file}.other`, randomBytes(statSync(file).size));
  renameSync(`${file}.other`, file);
  await until('reported', async () => {
    await namesOf(store).catch(() => undefined);
    return failures.length > 0;
  });
  assert.match(failures[0] ?? '', /was deleted or replaced/);
  assert.ok(!existsSync(`${file}.damaged`));
});

/** Overwrites everything from an offset on. The size stays: a file that is smaller was truncated. */
function overwrite(file: string, at: number, bytes = randomBytes(statSync(file).size - at)): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

for (const size of [0, 4_096]) {
  test(`after petstore.sqlite is truncated to ${size} bytes nothing is acknowledged, and nothing is written to it`, async (t) => {
    const { file, store, failures } = await open(t);
    for (let index = 0; index < 200; index += 1) await create(store, `old ${index}`);
    await until('the log is empty', () => statSync(`${file}-wal`).size === 0);
    const before = readFileSync(file);
    for (let index = 0; index < 20; index += 1) await create(store, `new ${index}`);
    truncateSync(file, size);
    await refused(create(store, 'lost'));
    await until('reported', () => failures.length > 0);
    await allRefused(store);
    assert.equal(failures.length, 1);
    assert.match(failures[0] ?? '', /petstore\.sqlite was truncated, or another file was copied/);
    await store.close();
    assert.ok(readFileSync(file).equals(before.subarray(0, size)));
  });
}

test('a backup that is copied over an open store is noticed, and nothing is written to it', async (t) => {
  const { folder, file, store, failures } = await open(t);
  const spare = await newSpare(folder, ['spare']);
  for (let index = 0; index < 200; index += 1) await create(store, `old ${index}`);
  await until('the log is empty', () => statSync(`${file}-wal`).size === 0);
  // The writer notes how large the file is after it has emptied the log, or with the next create.
  await create(store, 'old 200');
  await until('it is empty again', () => statSync(`${file}-wal`).size === 0);
  const bytes = readFileSync(spare);
  assert.ok(bytes.length < statSync(file).size);
  copyFileSync(spare, file);
  await refused(create(store, 'lost'));
  await until('reported', () => failures.length > 0);
  await allRefused(store);
  assert.match(failures[0] ?? '', /petstore\.sqlite was truncated, or another file was copied/);
  await store.close();
  assert.ok(readFileSync(file).equals(bytes));
});

test('a store goes on after VACUUM, whoever looks first: a create, or the check once a second', async (t) => {
  const { file, store, failures } = await open(t);
  using other = new DatabaseSync(file);
  for (const look of [() => create(store, 'after'), () => store.ping().then(() => sleep(1_500))]) {
    const animal = { name: 'a'.repeat(200), categoryId: 1n, status: 'available' } as const;
    await store.importPets(Array.from({ length: 1_000 }, () => animal));
    await until('the log is empty', () => statSync(`${file}-wal`).size === 0);
    const before = statSync(file).size;
    other.exec("DELETE FROM pets WHERE name LIKE 'aa%'; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    assert.ok(statSync(file).size < before);
    await look();
  }
  await create(store, 'last');
  assert.deepEqual(failures, []);
  assert.deepEqual(await namesOf(store), ['after', 'last']);
});
