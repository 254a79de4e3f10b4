// The connections of one process, and how callers share them, on a real server.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTo } from '../../../harness/fresh-store.ts';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { deadlineIn } from '../deadline.ts';
import { parseAddress } from './address.ts';
import type { Connection } from './connection.ts';
import { Hosts } from './hosts.ts';
import { Pool } from './pool.ts';
import { SharedReads } from './shared-reads.ts';

const server = await PostgresServer.start();
after(() => server.close());

test('the pool opens no more connections than it may, and closes all of them', async () => {
  const database = await server.createDatabase();
  const pool = newPool(database, 3);
  const timers = countTimers();
  const pause = { name: 'pause', text: 'SELECT FROM pg_sleep(0.01)' };
  await Promise.all(Array.from({ length: 50 }, () => pool.query(pause, [], deadlineIn(30_000))));
  assert.equal((await sessionsOf(database)).length, 3);
  await pool.close();
  assert.equal(countTimers(), timers, 'no timer of a query stays');
  assert.deepEqual(await sessionsOf(database), []);
});

test('callers wait for the connections that a full server accepts; with none, they are refused', async () => {
  const database = await server.createDatabase();
  await server.query(`CREATE ROLE crowded LOGIN PASSWORD '${TEST_PASSWORD}' CONNECTION LIMIT 2`);
  const url = server.url(database).replace('petstore:', 'crowded:');
  const pool = newPoolAt(url, 10);
  const pause = { name: 'pause', text: 'SELECT FROM pg_sleep(0.01)' };
  const deadline = deadlineIn(30_000);
  await Promise.all(Array.from({ length: 100 }, () => pool.query(pause, [], deadline)));
  assert.equal((await sessionsOf(database)).length, 2);
  const late = newPoolAt(url, 1);
  await assert.rejects(late.query(ONE, [], deadline), {
    name: 'NoHost',
    message: /no free connection/,
  });
  await pool.close();
  await late.query(ONE, [], deadline);
  await late.close();
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
  await assert.rejects(inTime(), { name: 'NoResponse' });
});

/** The figures of a pool with one place. */
const figuresOf = (used: number, idle: number, waiting: number) => [
  { state: 'used', value: used },
  { state: 'idle', value: idle },
  { value: 1 },
  { value: waiting },
];

test('a caller that gets no connection in time is refused, and the connection goes to the next one', async () => {
  const database = await server.createDatabase();
  const pool = newPool(database, 1);
  const deadline = deadlineIn(30_000);
  const figures = () =>
    pool
      .figures()
      .flatMap(({ values }) => values.map(({ labels, value }) => ({ ...labels, value })));
  const held = await hold(pool);
  const next = pool.query(ONE, [], deadline);
  const late = pool.query(ONE, [], deadlineIn(20));
  await assert.rejects(late, { name: 'NotSent', message: 'no connection in time' });
  assert.deepEqual(figures(), figuresOf(1, 0, 2));
  const last = pool.query(ONE, [], deadline);
  await held.release();
  assert.deepEqual(await next, [[1]]);
  assert.deepEqual(await last, [[1]]);
  assert.deepEqual(figures(), figuresOf(0, 1, 0));
  await pool.close();
  await server.waitForNoSession(database);
});

test('a caller that waits for a connection which is lost gets a new one', async () => {
  const database = await server.createDatabase();
  const pool = newPool(database, 1);
  const held = await hold(pool);
  const next = pool.query(ONE, [], deadlineIn(20_000));
  held.connection.destroy();
  await held.release();
  assert.deepEqual(await next, [[1]]);
  await pool.close();
});

test('a pool that is closed refuses every caller, and leaves no session', async () => {
  const database = await server.createDatabase();
  const pool = newPool(database, 1);
  const held = await hold(pool);
  const closing = pool.close();
  const isClosed = { name: 'NotSent', message: 'the store is closed' };
  await assert.rejects(pool.query(ONE, [], deadlineIn(30_000)), isClosed);
  await held.release();
  await closing;
  assert.deepEqual(await sessionsOf(database), []);
});

test('after a stale plan no connection with prepared plans is used again, also if it is in use', async () => {
  const database = await server.createDatabase();
  await server.query('CREATE TABLE animals (id int)', database);
  const pool = newPool(database, 2);
  const read = { name: 'read', text: 'SELECT * FROM animals' };
  const deadline = deadlineIn(30_000);
  const held = await hold(pool);
  await held.connection.query(read, [], deadline);
  await pool.query(read, [], deadline);
  await server.query('ALTER TABLE animals ADD COLUMN name text', database);
  await assert.rejects(pool.query(read, [], deadline), { code: '0A000' });
  await held.release();
  assert.deepEqual(await pool.query(read, [], deadline), []);
  await pool.close();
});

test('idle connections that a stale plan has made useless leave their place to new ones', async (context) => {
  const database = await server.createDatabase();
  await server.query('CREATE TABLE animals (id int)', database);
  const pool = newPool(database, 2);
  context.after(() => pool.close());
  const read = { name: 'read', text: 'SELECT * FROM animals' };
  const deadline = deadlineIn(30_000);
  /** Resolves only if both connections of the pool can be used at once. */
  const readOnBoth = async () => {
    const held = await hold(pool);
    await pool.query(read, [], deadline);
    await held.connection.query(read, [], deadline);
    await held.release();
  };
  await readOnBoth();
  await server.query('ALTER TABLE animals ADD COLUMN name text', database);
  await assert.rejects(pool.query(read, [], deadline), { code: '0A000' });
  await readOnBoth();
});

test('a connection that is ready only after the pool was replaced is not used, and its caller gets another', async () => {
  const database = await server.createDatabase();
  const opened: Connection[] = [];
  const begun = Promise.withResolvers<void>();
  const isOpening = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const pool = new Pool(new Hosts(parseAddress(server.url(database))), 2, async (connection) => {
    if (opened.push(connection) !== 2) return;
    isOpening.resolve();
    await ready.promise;
  });
  const deadline = deadlineIn(30_000);
  const first = pool.run(deadline, async () => {
    begun.resolve();
    await isOpening.promise;
    throw new Error('the connection was lost');
  });
  await begun.promise;
  const second = pool.run(deadline, (connection) => Promise.resolve(connection));
  await assert.rejects(first, { message: 'the connection was lost' });
  ready.resolve();
  assert.equal(await second, opened[2]);
  await pool.close();
  await server.waitForNoSession(database);
});

test('callers that wait for the same read share a query, and none joins a query already sent', async () => {
  const database = await server.createDatabase();
  await server.query('CREATE TABLE animals (id int)', database);
  const sent: string[] = [];
  const pool = newPool(database, 3);
  const reads = new SharedReads(counted(pool, sent));
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

test('callers that wait for one row each share a query, and each gets its own, or none', async () => {
  const sent: string[] = [];
  const pool = newPool('postgres', 3);
  const reads = new SharedReads(counted(pool, sent));
  const squares = {
    name: 'squares',
    text: 'SELECT each, each * each FROM generate_series(1, 3) AS each WHERE each = ANY ($1::int[])',
  };
  const rows = await Promise.all([3, 1, 4, 3, 2].map((key) => reads.find(squares, key)));
  assert.deepEqual(rows, [[3, 9], [1, 1], undefined, [3, 9], [2, 4]]);
  assert.equal(sent.length, 1);
  await pool.close();
});

test('different searches by one statement share a query, and each caller gets its own rows, or none', async () => {
  const sent: string[] = [];
  const pool = newPool('postgres', 3);
  const reads = new SharedReads(counted(pool, sent));
  const squares = {
    name: 'squares',
    text: `SELECT factor * factor, place::int
           FROM unnest($1::int[], $2::int[]) WITH ORDINALITY AS wanted (least, most, place),
                generate_series(least, most) AS factor`,
  };
  const searches = [
    [3, 3],
    [1, 2],
    [4, 0],
    [3, 3],
    [2, 2],
  ];
  const found = await Promise.all(searches.map((values) => reads.search(squares, values)));
  const values = found.map((rows) => rows.map(([square]) => square));
  assert.deepEqual(values, [[9], [1, 4], [], [9], [4]]);
  assert.equal(sent.length, 1);

  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const many = numbers.map((number) => reads.search(squares, [number, number]));
  const squaresFound = (await Promise.all(many)).flat().map(([square]) => square);
  assert.deepEqual(
    squaresFound,
    numbers.map((number) => number * number),
  );
  assert.equal(sent.length, 5, 'a query has at most 32 searches');
  await pool.close();
});

test('reads leave two connections to writes', async () => {
  const database = await server.createDatabase();
  const pool = newPool(database, 4);
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

/** Uses a connection of the pool until it is released. */
async function hold(pool: Pool) {
  const begun = Promise.withResolvers<Connection>();
  const ended = Promise.withResolvers<void>();
  const use = pool.run(deadlineIn(30_000), (connection) => {
    begun.resolve(connection);
    return ended.promise;
  });
  const release = () => {
    ended.resolve();
    return use;
  };
  return { connection: await begun.promise, release };
}

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

/** Adds the name of every query that is sent to `sent`. */
function counted(pool: Pool, sent: string[]): Pick<Pool, 'query' | 'connectionsMax'> {
  return {
    connectionsMax: pool.connectionsMax,
    query(...values) {
      sent.push(values[0].name);
      return pool.query(...values);
    },
  };
}

function newPool(database: string, connectionsMax: number): Pool {
  return newPoolAt(server.url(database), connectionsMax);
}

function newPoolAt(url: string, connectionsMax: number): Pool {
  return new Pool(new Hosts(parseAddress(url)), connectionsMax);
}

function sessionsOf(database: string): Promise<unknown[][]> {
  return server.query(`SELECT pid FROM pg_stat_activity WHERE datname = '${database}'`);
}
