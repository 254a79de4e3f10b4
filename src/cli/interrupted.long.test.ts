// Imports and copies that are killed, or ended by Ctrl-C, at any moment. Each starts processes until one of them was
// interrupted in time.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN, NODE_FLAGS, runHere, start } from '../../harness/command.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const ROUNDS_MAX = 40;

let server: PostgresServer;
before(async () => {
  server = await PostgresServer.start();
});
after(() => server.close());

/** A command of its own process, which ends with the test. */
function started(t: TestContext, child: ChildProcess) {
  t.after(() => child.kill('SIGKILL'));
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => (words += chunk.toString()));
  return { child, words: () => words, ended: once(child, 'close') };
}

function fileIn(data: string): string {
  return join(data, 'production', 'petstore.sqlite');
}

function countPets(file: string): number {
  if (!existsSync(file)) return 0;
  const database = new DatabaseSync(file, { timeout: 5_000 });
  try {
    return Number(database.prepare('SELECT count(*) AS count FROM pets').get()?.['count']);
  } catch {
    // Its schema is still being made.
    return 0;
  } finally {
    database.close();
  }
}

/** A file of a list, in the format of its name. */
function newList(t: TestContext, format: 'csv' | 'ndjson', names: readonly string[]): string {
  const lines =
    format === 'csv'
      ? ['name,categoryId', ...names.map((name) => `"${name}",1`)]
      : names.map((name) => JSON.stringify({ name, categoryId: 1 }));
  const file = join(temporaryFolder(t), `pets.${format}`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

async function exported(store: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere(['export', ...store]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Without the difference, which takes minutes to work out for so many. */
async function assertNames(data: string, names: readonly string[]): Promise<void> {
  const lines = (await exported(['--data', data])).split('\n').slice(0, -1);
  const stored = lines.map((line) => (JSON.parse(line) as { name: string }).name);
  assert.equal(stored.length, names.length);
  assert.equal(
    stored.findIndex((name, index) => name !== names[index]),
    -1,
  );
}

/** Starts an import, and resolves when it has stored something. */
async function importSome(t: TestContext, args: readonly string[], data: string) {
  const stored = countPets(fileIn(data));
  const importing = started(t, start(['import', ...args, '--data', data, '--create'], {}));
  await until(
    'the import must begin',
    () => importing.child.exitCode !== null || countPets(fileIn(data)) > stored,
  );
  return importing;
}

for (const format of ['ndjson', 'csv'] as const) {
  test(`${format}: an import that is killed, again and again, still adds every animal once`, async (t) => {
    const data = temporaryFolder(t);
    const names = Array.from({ length: 20_000 }, (_, index) => `two\nlines, ${index}`);
    const file = newList(t, format, names);
    for (let kills = 0; kills < 2; kills += 1) {
      const { child, ended } = await importSome(t, [file], data);
      child.kill('SIGKILL');
      await ended;
    }
    const { code, stderr } = await runHere(['import', file, '--data', data]);
    assert.equal(code, 0, stderr);
    await assertNames(data, names);
  });
}

test('Ctrl-C says how far the import is, and the same command continues it', async (t) => {
  const data = temporaryFolder(t);
  const names = Array.from({ length: 60_000 }, (_, index) => `Animal ${index}`);
  const file = newList(t, 'ndjson', names);
  const { child, ended, words } = await importSome(t, [file], data);
  // The launcher passes it on, so that it may arrive twice.
  child.kill('SIGINT');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [1, null]);
  const said =
    /^The import was interrupted\. The import stopped after line ([\d,]+), with \1 animals imported into (.+): the same command with the same file continues there\.\n$/;
  const [, count = '', store] = said.exec(words()) ?? [];
  assert.equal(store, fileIn(data), words());
  assert.equal(countPets(fileIn(data)), Number(count.replaceAll(',', '')));
  assert.equal((await runHere(['import', file, '--data', data])).code, 0);
  await assertNames(data, names);
});

test(
  'standard input is kept in a file without a name, and Ctrl-C says that nothing was imported',
  { skip: NEEDS_LINUX },
  async (t) => {
    const data = temporaryFolder(t);
    const line = '{"name":"Rex","categoryId":1}\n';
    const command = [...NODE_FLAGS, MAIN, 'import', '-', '--data', data, '--create'];
    const { child, ended, words } = started(t, spawn(process.execPath, command));
    child.stdin?.write(line);
    const folder = `/proc/${child.pid}/fd`;
    const copyOfInput = () =>
      readdirSync(folder)
        .map((descriptor) => join(folder, descriptor))
        .find((link) => targetOf(link).includes('petstore-stdin-'));
    await until('the line must be copied', () => {
      const link = copyOfInput();
      return link !== undefined && statSync(link).size === line.length;
    });
    const link = copyOfInput() ?? assert.fail('the file is open');
    assert.match(readlinkSync(link), / \(deleted\)$/);
    assert.equal(statSync(link).mode & 0o777, 0o600);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [1, null]);
    assert.match(words(), /^The import was interrupted\. Nothing was imported\.\n$/);
    assert.equal(countPets(fileIn(data)), 0);
  },
);

/** What a descriptor of a process leads to; empty if it was closed after the folder was read. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

/** A store with so many animals, and the arguments that copy it. */
async function newSource(t: TestContext, animals: number) {
  const data = temporaryFolder(t);
  const names = Array.from({ length: animals }, (_, index) => `Rex ${index}`);
  const list = newList(t, 'ndjson', names);
  const { code, stderr } = await runHere(['import', list, '--data', data, '--create']);
  assert.equal(code, 0, stderr);
  return { data, copyTo: (to: string) => ['copy', '--from', `sqlite:${fileIn(data)}`, '--to', to] };
}

/** A new target, and whether a copy has written something to it, which nobody else sees. */
interface Target {
  to: string;
  store: readonly string[];
  hasBegun: () => boolean | Promise<boolean>;
}

function newFileTarget(t: TestContext): Target & { folder: string } {
  const data = temporaryFolder(t);
  const folder = dirname(fileIn(data));
  const hasBegun = () =>
    existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.partial'));
  return { to: `sqlite:${fileIn(data)}`, store: ['--data', data], hasBegun, folder };
}

async function newDatabaseTarget(): Promise<Target & { database: string }> {
  const database = await server.createDatabase();
  const url = server.url(database);
  const hasBegun = async () => {
    const [row] = await server.query(
      `SELECT count(*)::int FROM pg_stat_activity
       WHERE datname = '${database}' AND query LIKE 'INSERT INTO pets%'`,
    );
    return row?.[0] !== 0;
  };
  return { to: url, store: ['--database', url], hasBegun, database };
}

/** Starts a copy and sends the signal some time after it has begun. Whether it was interrupted. */
async function interruptCopy(
  t: TestContext,
  args: readonly string[],
  { target, signal, withinMs }: { target: Target; signal: NodeJS.Signals; withinMs: number },
) {
  const { child, ended } = started(t, start(args, {}));
  while (child.exitCode === null && !(await target.hasBegun())) await sleep(5);
  await sleep(randomInt(withinMs));
  child.kill(signal);
  const [code] = (await ended) as [number | null];
  return { isInterrupted: code !== 0, pid: child.pid };
}

test('a copy that is killed at any moment leaves all or nothing, and after nothing the same command succeeds', async (t) => {
  const { data, copyTo } = await newSource(t, 10_000);
  const all = await exported(['--data', data]);
  let kills = 0;
  // Where all copies were faster than their kill, there are more rounds.
  for (let round = 1; round <= 4 || (kills === 0 && round <= ROUNDS_MAX); round += 1) {
    const file = newFileTarget(t);
    const target = round % 2 === 0 ? file : await newDatabaseTarget();
    const args = copyTo(target.to);
    const how = { target, signal: 'SIGKILL', withinMs: Math.ceil(400 / round) } as const;
    const { isInterrupted, pid } = await interruptCopy(t, args, how);
    if (isInterrupted) {
      const again = await runHere(args);
      if (again.code === 0) kills += 1;
      // Otherwise it was killed after its commit.
      else assert.match(again.stderr, /exists: name a file|the target holds other data/);
    }
    assert.ok((await exported(target.store)) === all);
    if (target === file) {
      const names = readdirSync(file.folder).filter((name) => !name.includes(`.${pid}.partial`));
      assert.deepEqual(names.toSorted(), ['petstore.sqlite', 'petstore.store-id']);
    }
  }
  assert.ok(kills > 0, 'no copy was killed before its end');
});

test('a copy to PostgreSQL that Ctrl-C has ended leaves no table behind', async (t) => {
  const { copyTo } = await newSource(t, 30_000);
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const target = await newDatabaseTarget();
    const how = { target, signal: 'SIGINT', withinMs: 5 } as const;
    // Where the copy was faster, there is another round.
    if (!(await interruptCopy(t, copyTo(target.to), how)).isInterrupted) continue;
    await server.waitForNoSession(target.database);
    const tables = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`;
    assert.deepEqual(await server.query(tables, target.database), []);
    return;
  }
  assert.fail('no copy was ended before its end');
});
