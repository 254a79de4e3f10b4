// The connections of one process, and how callers share them, on a real server.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../../harness/postgres-server.ts';
import { deadlineIn } from '../deadline.ts';
import { parseAddress } from './address.ts';
import { openConnection, type Connection } from './connection.ts';
import { Pool } from './pool.ts';
import { SharedReads } from './shared-reads.ts';

/** The delay of the pool after a refused connection, and a little more. */
const REOPEN_DELAY_MS = 1_100;

const server = await PostgresServer.start();
after(() => server.close());

test('the pool opens no more connections than it may, and waits after a refusal unless none is open', async () => {
  const database = await server.createDatabase();
  const pause = { name: 'pause', text: 'SELECT FROM pg_sleep(0.01)' };
  const deadline = deadlineIn(30_000);
  const timers = countTimers();
  let attempts = 0;
  let isRefused = true;
  const pool = new Pool(async () => {
    attempts += 1;
    if (isRefused) throw new Error('too many connections');
    return openTo(server.url(database));
  }, 3);
  const queryMany = () =>
    Promise.all(Array.from({ length: 50 }, () => pool.query(pause, [], deadline)));

  await assert.rejects(pool.query(pause, [], deadline), { name: 'NotSent' });
  isRefused = false;
  await pool.query(pause, [], deadline);
  assert.equal(attempts, 2, 'none is open, so it does not wait');

  isRefused = true;
  await queryMany();
  // One per second, and one at a time for each place: a slow machine takes a few seconds.
  assert.ok(attempts < 12, `${attempts} attempts`);

  isRefused = false;
  await sleep(REOPEN_DELAY_MS);
  attempts = 0;
  await queryMany();
  assert.equal(attempts, 2);
  await pool.close();
  assert.equal(countTimers(), timers, 'no timer of a query stays');
});

const ONE = { name: '', text: 'SELECT 1' };

test('a query is not sent without time or a connection, and a late one ends its connection', async () => {
  const connection = await openTo(server.url());
  const inTime = () => connection.query(ONE, [], deadlineIn(30_000));
  const isLate = { name: 'NotSent', message: 'its time was over before it was sent' };
  await assert.rejects(connection.query(ONE, [], deadlineIn(-1)), isLate);
  assert.deepEqual(await inTime(), [[1]]);
  const slow = connection.query({ name: '', text: 'SELECT pg_sleep(2)' }, [], deadlineIn(20));
  await assert.rejects(slow, { name: 'NoResponse', message: 'no response in time' });
  assert.equal(connection.isUsable(), false);
  await assert.rejects(inTime(), { name: 'NotSent', message: 'the connection is gone' });
});

/** The figures of a pool with one place. */
const figuresOf = (used: number, idle: number, opening: number, waiting: number) => [
  { state: 'used', value: used },
  { state: 'idle', value: idle },
  { state: 'opening', value: opening },
  { value: 1 },
  { value: waiting },
];

test('a caller that gets no connection in time is refused, and the connection goes to the next one', async () => {
  const database = await server.createDatabase();
  const pool = new Pool(() => openTo(server.url(database)), 1);
  const deadline = deadlineIn(30_000);
  const figures = () =>
    pool
      .figures()
      .flatMap(({ values }) => values.map(({ labels, value }) => ({ ...labels, value })));
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const first = pool.run(deadline, () => {
    begun.resolve();
    return ended.promise;
  });
  assert.deepEqual(figures(), figuresOf(0, 0, 1, 1));
  await begun.promise;
  const late = pool.query(ONE, [], deadlineIn(20));
  await assert.rejects(late, { name: 'NotSent', message: 'no connection in time' });
  const next = pool.query(ONE, [], deadline);
  assert.deepEqual(figures(), figuresOf(1, 0, 0, 1));
  ended.resolve();
  await first;
  assert.deepEqual(await next, [[1]]);
  assert.deepEqual(figures(), figuresOf(0, 1, 0, 0));
  await pool.close();
  await server.waitForNoSession(database);
});

test('a caller that waits for a connection which is lost gets a new one', async () => {
  const database = await server.createDatabase();
  const pool = new Pool(() => openTo(server.url(database)), 1);
  const deadline = deadlineIn(20_000);
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<Connection>();
  const first = pool.run(deadline, (connection) => {
    begun.resolve(connection);
    return ended.promise;
  });
  const connection = await begun.promise;
  const next = pool.query(ONE, [], deadline);
  connection.destroy();
  ended.resolve();
  await first;
  assert.deepEqual(await next, [[1]]);
  await pool.close();
});

test('a pool that is closed refuses every caller, and leaves no session', async () => {
  const database = await server.createDatabase();
  const pool = new Pool(() => openTo(server.url(database)), 1);
  const deadline = deadlineIn(30_000);
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const inUse = pool.run(deadline, () => {
    begun.resolve();
    return closed.promise;
  });
  await begun.promise;
  const isClosed = { name: 'NotSent', message: 'the store is closed' };
  const waiting = assert.rejects(pool.query(ONE, [], deadline), isClosed);
  await pool.close();
  await waiting;
  await assert.rejects(pool.query(ONE, [], deadline), isClosed);
  closed.resolve();
  await inUse;
  await server.waitForNoSession(database);
});

test('after a stale plan no connection with prepared plans is used again, also if it is in use', async () => {
  const database = await server.createDatabase();
  await server.query('CREATE TABLE animals (id int)', database);
  let lost = 0;
  const pool = new Pool(
    () => openTo(server.url(database)),
    2,
    () => (lost += 1),
  );
  const read = { name: 'read', text: 'SELECT * FROM animals' };
  const deadline = deadlineIn(30_000);
  const prepared = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const inUse = pool.run(deadline, async (connection) => {
    await connection.query(read, [], deadline);
    prepared.resolve();
    await changed.promise;
  });
  await prepared.promise;
  await pool.query(read, [], deadline);
  await server.query('ALTER TABLE animals ADD COLUMN name text', database);
  await assert.rejects(pool.query(read, [], deadline), { code: '0A000' });
  changed.resolve();
  await inUse;
  assert.deepEqual(await pool.query(read, [], deadline), []);

  assert.equal(lost, 0, 'the server has responded to every query');
  const end = { name: '', text: 'SELECT pg_terminate_backend(pg_backend_pid())' };
  await assert.rejects(pool.query(end, [], deadline));
  assert.equal(lost, 1);
  await pool.close();
});

test('idle connections that a stale plan has made useless leave their place to new ones', async (context) => {
  const database = await server.createDatabase();
  await server.query('CREATE TABLE animals (id int)', database);
  const pool = new Pool(() => openTo(server.url(database)), 2);
  context.after(() => pool.close());
  const read = { name: 'read', text: 'SELECT * FROM animals' };
  const deadline = deadlineIn(30_000);
  /** Resolves only if both connections of the pool can be used at once. */
  const readOnBoth = async () => {
    const isOtherDone = Promise.withResolvers<void>();
    const first = pool.run(deadline, async (connection) => {
      await isOtherDone.promise;
      return connection.query(read, [], deadline);
    });
    await pool.query(read, [], deadline);
    isOtherDone.resolve();
    await first;
  };
  await readOnBoth();
  await server.query('ALTER TABLE animals ADD COLUMN name text', database);
  await assert.rejects(pool.query(read, [], deadline), { code: '0A000' });
  await readOnBoth();
});

test('callers that wait for the same read share a query, and none joins a query already sent', async () => {
  const database = await server.createDatabase();
  await server.query('CREATE TABLE animals (id int)', database);
  const sent: string[] = [];
  const pool = new Pool(() => openCounted(server.url(database), sent), 3);
  const reads = new SharedReads(pool);
  const count = { name: 'count', text: 'SELECT count(*)::int FROM animals, pg_sleep(0.5)' };

  const first = Array.from({ length: 100 }, () => reads.query(count, []));
  while (sent.length === 0) await sleep(1);
  await server.query('INSERT INTO animals VALUES (1)', database);
  // The first query may still be in flight: its result would lack the animal.
  const second = Array.from({ length: 100 }, () => reads.query(count, []));
  for (const rows of await Promise.all(second)) assert.deepEqual(rows, [[1]]);
  await Promise.all(first);
  assert.equal(sent.length, 2);
  await pool.close();
});

test('callers that wait for one row each share a query, and each gets its own', async () => {
  const sent: string[] = [];
  const pool = new Pool(() => openCounted(server.url(), sent), 3);
  const reads = new SharedReads(pool);
  const squares = {
    name: 'squares',
    text: `SELECT each * each FROM unnest($1::int[]) WITH ORDINALITY AS keys (each, ordinal)
           ORDER BY ordinal`,
  };
  const rows = await Promise.all([3, 1, 3, 2].map((key) => reads.find(squares, key)));
  assert.deepEqual(rows, [[9], [1], [9], [4]]);
  assert.equal(sent.length, 1);
  await pool.close();
});

test('reads leave two connections to writes', async () => {
  const database = await server.createDatabase();
  const pool = new Pool(() => openTo(server.url(database)), 4);
  const reads = new SharedReads(pool);
  const pause = { name: 'pause', text: 'SELECT $1::int FROM pg_sleep(0.2)' };
  const all = Promise.all([1, 2, 3, 4, 5].map((number) => reads.query(pause, [number])));
  const isOver = all.then(() => true);
  let most = 0;
  while (!(await Promise.race([isOver, sleep(5, false)]))) {
    most = Math.max(most, await countSleeping(database));
  }
  assert.equal(most, 2);
  await pool.close();
});

/** How many sessions are inside pg_sleep. */
async function countSleeping(database: string): Promise<number> {
  const rows = await server.query(
    `SELECT FROM pg_stat_activity WHERE datname = '${database}' AND wait_event = 'PgSleep'`,
  );
  return rows.length;
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

async function openTo(url: string): Promise<Connection> {
  const address = parseAddress(url);
  const [host] = address.hosts;
  assert.ok(host !== undefined);
  return openConnection(address, host);
}

async function openCounted(url: string, sent: string[]): Promise<Connection> {
  const connection = await openTo(url);
  const query = connection.query.bind(connection);
  return Object.assign(connection, {
    query(...values: Parameters<Connection['query']>) {
      sent.push(values[0].name);
      return query(...values);
    },
  });
}
