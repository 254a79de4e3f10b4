// The file is deleted, replaced, moved or damaged while a store has it open.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { listPets } from '../../../test/list-pets.ts';
import type { Refusal } from '../../domain/errors.ts';
import type { Store } from '../../domain/store.ts';
import { openSqliteStore } from './store.ts';

const DEADLINE_MS = 30_000;

interface Subject {
  folder: string;
  file: string;
  store: Store;
  warnings: string[];
}

async function open(t: TestContext): Promise<Subject> {
  const root = await mkdtemp(join(tmpdir(), 'petstore-replaced-'));
  const file = join(root, 'store', 'petstore.sqlite');
  const warnings: string[] = [];
  const store = openSqliteStore(file, { onWarning: (message) => warnings.push(message) });
  t.after(async () => {
    await store.close();
    await rm(root, { recursive: true, force: true });
  });
  return { folder: dirname(file), file, store, warnings };
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
  const store = openSqliteStore(made);
  for (const name of names) await create(store, name);
  await store.close();
  return made;
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const overdueMs = performance.now() + DEADLINE_MS;
  while (!(await isSo())) {
    assert.ok(performance.now() < overdueMs, `not within ${DEADLINE_MS} ms: ${what}`);
    await sleep(10);
  }
}

const isReady = (store: Store) =>
  store.ping().then(
    () => true,
    () => false,
  );

async function refused(call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error: Refusal) => error.code === 'unavailable');
}

/** What is in a file when it is opened with whatever log lies beside it, as at a start. */
function contentOf(file: string): { soundness: unknown; names: unknown[] } {
  const database = new DatabaseSync(file);
  const soundness = database.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  const rows = database.prepare('SELECT name FROM pets ORDER BY id').all();
  database.close();
  return { soundness, names: rows.map(({ name }) => name) };
}

test('once the file is deleted no write is acknowledged, until a good file is there', async (t) => {
  const { folder, file, store, warnings } = await open(t);
  const spare = await newSpare(folder, ['spare']);
  await create(store, 'before');
  rmSync(file);
  await refused(create(store, 'lost'));
  await until('not ready', async () => !(await isReady(store)));
  await refused(namesOf(store));
  assert.deepEqual(
    readdirSync(folder).filter((name) => name === 'petstore.sqlite'),
    [],
    'no empty file takes its place',
  );

  renameSync(spare, file);
  await until('ready', () => isReady(store));
  assert.deepEqual(await namesOf(store), ['spare']);
  await create(store, 'after');
  assert.deepEqual(await namesOf(store), ['spare', 'after']);
  await store.close();
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['spare', 'after'] });
  assert.equal(warnings.filter((line) => /are refused until a good file/.test(line)).length, 1);
  assert.equal(warnings.filter((line) => /is open again/.test(line)).length, 1);
});

test('a file that takes the place of the store is read and written, and gets nothing of the old log', async (t) => {
  const { folder, file, store } = await open(t);
  const spare = await newSpare(folder, ['spare']);
  for (let index = 0; index < 50; index += 1) await create(store, `old ${index}`);
  const version = store.version?.();
  renameSync(spare, file);
  // One of these may find the old file gone; whatever is acknowledged must be in the new one.
  const created: string[] = [];
  await until('a create succeeds', async () => {
    const name = `new ${created.length}`;
    const isCreated = await create(store, name).then(
      () => true,
      () => false,
    );
    if (isCreated) created.push(name);
    return isCreated;
  });
  assert.deepEqual(await namesOf(store), ['spare', ...created]);
  assert.notEqual(store.version?.(), version, 'pages that were kept are not used any more');
  await store.close();
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['spare', ...created] });
  const aside = readdirSync(folder).filter((name) => name.includes('-wal.replaced-'));
  assert.equal(aside.length, 1, 'the old log is kept under another name');
});

test('a store that is stopped right after its file was replaced leaves no log beside the new file', async (t) => {
  const { folder, file, store } = await open(t);
  const spare = await newSpare(folder, ['spare']);
  for (let index = 0; index < 50; index += 1) await create(store, `old ${index}`);
  renameSync(spare, file);
  await store.close();
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['spare'] });
});

test('a file that is moved away and back has lost nothing', async (t) => {
  const { file, store } = await open(t);
  await create(store, 'one');
  renameSync(file, `${file}.away`);
  await refused(create(store, 'lost'));
  renameSync(`${file}.away`, file);
  await until('ready', () => isReady(store));
  await create(store, 'two');
  assert.deepEqual(await namesOf(store), ['one', 'two']);
  await store.close();
  assert.deepEqual(contentOf(file), { soundness: 'ok', names: ['one', 'two'] });
});

test("another program's file in the place of the store stays as it is, and nothing is read or written", async (t) => {
  const { folder, file, store, warnings } = await open(t);
  const other = join(folder, '..', 'other.sqlite');
  const database = new DatabaseSync(other);
  database.exec('CREATE TABLE guests (name TEXT)');
  database.close();
  const bytes = readFileSync(other);
  await create(store, 'one');
  renameSync(file, `${file}.away`);
  renameSync(other, file);
  await refused(create(store, 'lost'));
  await until('said', () => warnings.some((line) => /belongs to another program/.test(line)));
  await refused(store.ping());
  assert.ok(readFileSync(file).equals(bytes));

  renameSync(`${file}.away`, file);
  await until('ready', () => isReady(store));
  assert.deepEqual(await namesOf(store), ['one'], 'also what was only in the log');
});

test('when only the log is deleted, nothing that was acknowledged is lost', async (t) => {
  const { file, store } = await open(t);
  await create(store, 'one');
  rmSync(`${file}-wal`);
  await refused(create(store, 'lost'));
  await until('ready', () => isReady(store));
  await create(store, 'two');
  await store.close();
  const { soundness, names } = contentOf(file);
  assert.equal(soundness, 'ok');
  assert.ok(names.includes('one') && names.includes('two'), names.join());
});

test('two stores on one file both move to the file that replaces it', async (t) => {
  const { folder, file, store } = await open(t);
  const other = openSqliteStore(file);
  t.after(() => other.close());
  const spare = await newSpare(folder, ['spare']);
  await create(store, 'one');
  await create(other, 'two');
  renameSync(spare, file);
  for (const each of [store, other]) {
    await until('moved', async () =>
      (await namesOf(each).catch((): string[] => [])).includes('spare'),
    );
  }
  await create(store, 'three');
  await create(other, 'four');
  for (const each of [store, other]) {
    assert.deepEqual(await namesOf(each), ['spare', 'three', 'four']);
  }
});

for (const [what, damage] of [
  ['pages', (file: string) => overwrite(file, 4_096, randomBytes(64 * 1_024))],
  ['the whole content', (file: string) => writeFileSync(file, 'no database at all')],
] as const) {
  test(`after damage to ${what} nothing is written and the store is not ready, until another file is there`, async (t) => {
    const { folder, file, store, warnings } = await open(t);
    const spare = await newSpare(folder, ['spare']);
    for (let index = 0; index < 200; index += 1) await create(store, `animal ${index}`);
    await store.close();
    const damaged = openSqliteStore(file, { onWarning: (message) => warnings.push(message) });
    t.after(() => damaged.close());
    await damaged.ping();
    damage(file);
    await until('found', async () => {
      await create(damaged, 'lost').catch(() => undefined);
      return warnings.some((line) => /is damaged/.test(line));
    });
    await refused(damaged.ping());
    await refused(create(damaged, 'lost'));
    await sleep(300);
    await refused(damaged.ping());

    renameSync(spare, file);
    await until('ready', () => isReady(damaged));
    await create(damaged, 'after');
    assert.deepEqual(await namesOf(damaged), ['spare', 'after']);
  });
}

function overwrite(file: string, at: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}
