// `petstore backup`, `restore` and `verify` as commands, beside a running service.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMANDS } from '../../src/cli/commands.ts';
import { removeOlderBackups } from '../../src/cli/dated-backups.ts';
import { executeOrExplain } from '../../src/cli/run.ts';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { newStoreIdentity } from '../../src/domain/store-identity.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { runHere } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send, startTestService, storageOf } from '../../harness/test-service.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';

/** A store with one key. */
async function newStore(data: string): Promise<void> {
  const now = new Date();
  const identity = newStoreIdentity('production', { now, randomBytes });
  const store = openSqliteStore(join(data, 'production', 'petstore.sqlite'), { identity });
  const secret = newSecret('production', randomBytes);
  await store.createApiKey(newApiKey({ secret, name: 'first key', now, randomBytes }));
  await store.close();
}

/** Runs a command at a terminal. `onBar` is called when the bar is shown, with most of the pages still to be copied. */
async function runAtTerminal(args: string[], onBar = () => {}) {
  let [text, isShown] = ['', false];
  const write = (part: string) => {
    text += part;
    if (isShown || !part.includes(' pages')) return;
    isShown = true;
    onBar();
  };
  const io = { env: {}, stdout: { write }, stderr: { isTTY: true, write } };
  const code = await executeOrExplain(COMMANDS, args, io);
  return { code, isShown, shown: text.split('\r\u001b[K') };
}

const dated = (day: number) => `petstore-production-2020-01-0${day}T000000Z.sqlite`;

test('a backup of a running service is restored after it has stopped, and no id is assigned again', async (t) => {
  const data = temporaryFolder(t);
  const file = join(data, 'monday.sqlite');
  const service = await serve(t, ['--data', data]);
  const create = (baseUrl: string) =>
    send(`${baseUrl}/pets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}` },
      body: '{"name":"Rex","categoryId":1}',
    });
  await create(service.baseUrl);
  const made = await runHere(['backup', file, '--data', data]);
  assert.deepEqual([made.code, made.stdout], [0, ''], made.stderr);
  assert.match(
    made.stderr,
    /^Backed up \S+petstore\.sqlite to \S+monday\.sqlite, complete and checked; animals: 1, last id: 1\.\n$/,
  );
  await create(service.baseUrl);

  const refused = await runHere(['restore', file, '--data', data]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^petstore: [^\n]+ is in use: stop every service [^\n]+\n$/);

  service.signal('SIGTERM');
  await service.ended;
  const restored = await runHere(['restore', file, '--data', data]);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(
    restored.stderr,
    /^Restored \S+petstore\.sqlite from \S+monday\.sqlite, complete and checked; animals: 1, first new id: 3; the former file is \S+-1\.\n$/,
  );
  const verified = await runHere(['verify', '--data', data]);
  assert.deepEqual([verified.code, verified.stdout], [0, '']);
  assert.match(verified.stderr, /: animals: 1, last id: 2, problems: 0\.\n$/);
  const again = await startTestService(storageOf('--data', data));
  assert.match((await create(again.baseUrl)).text, /^\{"id":3,/);
  await again.close();
});

/** What the monitor and an alert watch. */
function lastRegularBackup(data: string) {
  using database = new DatabaseSync(join(data, 'production', 'petstore.sqlite'));
  return database.prepare('SELECT last_backup_at AS at FROM store_identity').get()?.['at'];
}

test('in a folder a backup has a date in its name, and --keep removes older ones of the same store only', async (t) => {
  const data = temporaryFolder(t);
  const backups = join(data, 'backups');
  mkdirSync(backups);
  const here = ['--data', data];
  await newStore(data);
  const refused = await runHere(['backup', join(backups, 'missing/'), ...here]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^petstore: there is no folder [^\n]+\n$/);
  assert.equal(
    (await runHere(['backup', join(data, 'one.sqlite'), '--keep', '1', ...here])).code,
    2,
  );

  const first = await runHere(['backup', backups, ...here]);
  assert.equal(first.code, 0, first.stderr);
  assert.equal(lastRegularBackup(data), null);
  const [name = ''] = readdirSync(backups);
  assert.match(name, /^petstore-production-\d{4}-\d\d-\d\dT\d{6}Z\.sqlite$/);
  for (const day of [1, 2, 3]) copyFileSync(join(backups, name), join(backups, dated(day)));
  const otherNames = [
    'mine.sqlite',
    'petstore-production-2019.sqlite',
    `old-${dated(4)}`,
    `${dated(4)}.old`,
  ];
  const [left, running] = [`${dated(7)}.17.partial`, `${dated(8)}.18.partial`];
  for (const each of [left, running]) writeFileSync(join(backups, each), 'unfinished');
  utimesSync(join(backups, left), 0, Date.now() / 1_000 - 2 * 60 * 60);
  const kept = [...otherNames, dated(5), dated(6), running];
  for (const each of otherNames) copyFileSync(join(backups, name), join(backups, each));
  writeFileSync(join(backups, dated(5)), 'not a database');
  await newStore(join(data, 'other'));
  copyFileSync(join(data, 'other', 'production', 'petstore.sqlite'), join(backups, dated(6)));

  await sleep(1_000 - (Date.now() % 1_000));
  const second = await runHere(['backup', `${backups}/`, '--keep', '3', ...here]);
  assert.equal(second.code, 0, second.stderr);
  assert.ok(Date.now() - Number(lastRegularBackup(data)) < 60_000);
  assert.match(
    second.stderr,
    /\.\nRemoved \S+2020-01-02\S+\nRemoved \S+2020-01-01\S+\nRemoved \S+2020-01-07T\S+partial\.\n$/,
  );
  assert.ok(readdirSync(backups).includes(running), 'it may still be written');
  const dates = readdirSync(backups).filter((each) => !kept.includes(each));
  assert.equal(dates.length, 3);
  assert.deepEqual(dates.toSorted().slice(0, 2), [dated(3), name]);
});

test('nothing is removed beside a file whose store is unknown', (t) => {
  const folder = temporaryFolder(t);
  for (const day of [1, 2]) writeFileSync(join(folder, dated(day)), 'not a database');
  assert.deepEqual(removeOlderBackups(join(folder, dated(2)), 1, new Date()), []);
  assert.deepEqual(readdirSync(folder), [dated(1), dated(2)]);
});

test('a terminal shows the progress of backup and restore, and what happened in its place', async (t) => {
  const data = temporaryFolder(t);
  const file = join(data, 'production', 'petstore.sqlite');
  const here = ['--data', data];
  await newStore(data);
  const store = openSqliteStore(file, NEW_STORE);
  await store.importPets(
    Array.from({ length: 20_000 }, () => ({ name: 'Rex', categoryId: 7n, status: 'sold' })),
  );
  await store.close();

  const [late, backups] = [join(data, 'late.sqlite'), join(data, 'backups')];
  const refused = await runAtTerminal(['backup', late, ...here], () => writeFileSync(late, 'mine'));
  assert.deepEqual([refused.code, refused.isShown], [2, true]);
  assert.match(refused.shown.at(-1) ?? '', /^petstore: \S+late\.sqlite exists: [^\n]+\n$/);

  mkdirSync(backups);
  const made = await runAtTerminal(['backup', backups, '--keep', '2', ...here], () => {
    using database = new DatabaseSync(file);
    database.exec(`CREATE TRIGGER fixed BEFORE UPDATE ON store_identity
      BEGIN SELECT raise(FAIL, 'fixed'); END`);
  });
  assert.deepEqual([made.code, made.isShown], [0, true]);
  assert.match(
    made.shown.at(-1) ?? '',
    /^Backed up \S+ to \S+, complete and checked; animals: 20000, last id: 20000\.\nThe time could not be recorded in the store\.\n$/,
  );

  const [name = ''] = readdirSync(backups);
  const backup = join(backups, name);
  const restored = await runAtTerminal(['restore', backup, '--ids-above', '20000', ...here]);
  assert.deepEqual([restored.code, restored.isShown], [0, true]);
  assert.match(restored.shown.at(-1) ?? '', /^Restored /);
});

test('on PostgreSQL backup names the tool to use, restore the page and no command that changes data, and verify what is wrong', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const url = server.url(await server.createDatabase());
  const service = await startTestService(storageOf('--database', url));
  for (const [command, named] of [
    ['backup', 'use pg_dump '],
    ['restore', 'docs/backup\\.md#postgresql'],
  ] as const) {
    const { code, stderr } = await runHere([command, 'monday.sqlite', '--database', url]);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`^petstore: [^\\n]+${named}[^\\n]+\\n$`));
    assert.doesNotMatch(stderr, /pg_restore|--clean|\$DATABASE_URL" FILE/);
  }
  assert.doesNotMatch((await runHere(['restore', '--help'])).stdout, /pg_restore/);
  assert.equal((await runHere(['verify', '--database', url])).code, 0);
  await service.close();
  await server.query(
    "INSERT INTO pets VALUES (7, 'Rex', 1, 'sold'), (8, 'Tom', 1, 'sold')",
    new URL(url).pathname.slice(1),
  );
  const broken = await runHere(['verify', '--database', url]);
  assert.deepEqual(
    [broken.code, broken.stdout],
    [1, 'animals with an id that was never assigned: 2 (the first is 7)\n'],
  );
});
