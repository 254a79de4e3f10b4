// Which of several hosts is used when more than one takes writes: two real servers, of which the second is
// promoted while the first keeps running, as happens when only the cluster manager of a primary dies.

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { send, startTestService } from '../../../harness/test-service.ts';
import { until } from '../../../harness/until.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import type { NewPet } from '../../domain/pet.ts';
import { openPostgresStore } from './store.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
/** In this time the hosts are asked at least twice. */
const WATCHES_MS = 2_500;

test('failover: a replaced primary that keeps running is no longer used: creates, reads, revoked keys and readiness follow the new one', async (context) => {
  const { replaced, promoted, url } = await startPair(context, { isSynchronous: false });
  const service = await startTestService({
    name: 'two hosts',
    newDatabase: async () => ({ flags: ['--database', url], remove: async () => undefined }),
  });
  context.after(() => service.close());
  const isReady = async () => (await send(new URL('/readyz', service.baseUrl).href)).status === 200;
  const create = async (name: string) => {
    const body = JSON.stringify({ name, categoryId: 7 });
    return (await service.send('/pets', { method: 'POST', body })).status;
  };
  const otherKey = await service.addKey({});
  assert.equal(await create('before'), 201);
  await until('the standby has it', async () => (await countOf(promoted, 'before')) === 1);

  await promoted.query('SELECT pg_promote()');
  // What the replaced one still acknowledged would be lost, and the new one refused (D43). Beside the session of
  // the watch, one of the pool shows that the process has moved.
  await until('the process has moved', async () => (await sessionsOf(promoted)) > 1);
  for (let round = 0; round < 20; round += 1) {
    assert.equal(await create('moved'), 201);
    const listed = (await service.send('/pets?limit=100')).json() as { name: string }[];
    assert.equal(listed.filter(({ name }) => name === 'moved').length, round + 1);
  }
  assert.equal(await countOf(replaced, 'moved'), 0);
  assert.equal(await isReady(), true);

  await promoted.query(`UPDATE api_keys SET revoked_at = 1 WHERE name = 'test'`);
  const authorization = `Bearer ${otherKey}`;
  await until(
    'the key is refused',
    async () => (await service.send('/pets', { headers: { authorization } })).status === 401,
  );

  // The newest one is down. The replaced one still takes writes, and must not be used again.
  await promoted.stop('fast');
  await until('it is not ready', async () => !(await isReady()));
  assert.equal(await create('lost'), 503);
  assert.equal((await service.send('/pets')).status, 503);
  assert.equal(await countOf(replaced, 'lost'), 0);
  await promoted.start();
  await until('it is ready', isReady);
  assert.equal(await create('again'), 201);
});

test('failover: creates that wait for the standby of a replaced primary succeed on the new one, and a new process starts there', async (context) => {
  const { replaced, promoted, url } = await startPair(context, { isSynchronous: true });
  const store = await openPostgresStore(url, NEW_STORE);
  context.after(() => store.close());
  await store.createPet({ ...REX, name: 'before' });
  await promoted.query('SELECT pg_promote()');
  const began = performance.now();
  await until('a create succeeds', () =>
    store.createPet({ ...REX, name: 'moved' }).then(
      () => true,
      () => false,
    ),
  );
  context.diagnostic(
    `acknowledged ${Math.round(performance.now() - began)} ms after the promotion`,
  );
  assert.ok((await countOf(promoted, 'moved')) >= 1);

  const other = await openPostgresStore(url, NEW_STORE);
  context.after(() => other.close());
  await other.createPet({ ...REX, name: 'other' });
  assert.equal(await countOf(promoted, 'other'), 1);
  assert.equal(await countOf(replaced, 'other'), 0);
});

test('failover: a primary that is gone is replaced by the host that was promoted', async (context) => {
  const { replaced, promoted, url } = await startPair(context, { isSynchronous: false });
  const store = await openPostgresStore(url, NEW_STORE);
  context.after(() => store.close());
  await store.createPet({ ...REX, name: 'before' });
  await until('the standby has it', async () => (await countOf(promoted, 'before')) === 1);
  await replaced.stop('immediate');
  await promoted.query('SELECT pg_promote()');
  await until('a create succeeds', () =>
    store.createPet({ ...REX, name: 'after' }).then(
      () => true,
      () => false,
    ),
  );
  assert.ok((await countOf(promoted, 'after')) >= 1);

  await promoted.stop('immediate');
  await replaced.start();
  await until('it is refused', async () => {
    const reasons = await store.createPet(REX).then(() => '', reasonsOf);
    return /:\d+ was replaced by a newer primary \(its timeline is 1, and 2 was seen\)/.test(
      reasons,
    );
  });
});

test('failover: a single host is not watched; of several, open connections stay in use while no host responds to the watch', async (context) => {
  const server = await PostgresServer.start();
  context.after(() => server.close());
  const single = await openPostgresStore(server.url(), NEW_STORE);
  await single.ping();
  await sleep(WATCHES_MS / 2);
  assert.equal(await sessionsOf(server), 1, 'the only open sessions are those of the pool');
  await single.close();

  const hosts = `127.0.0.1:${server.port},127.0.0.1:1`;
  const store = await openPostgresStore(
    `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`,
    NEW_STORE,
  );
  context.after(() => store.close());
  await store.createPet(REX);
  await sleep(WATCHES_MS);
  // One of the pool and one of the watch, however often it has asked.
  await until('two sessions are open', async () => (await sessionsOf(server)) === 2);
  const client = new Client({ connectionString: server.url() });
  client.on('error', () => undefined);
  await client.connect();
  context.after(() => client.end());
  await client.query('ALTER ROLE petstore NOLOGIN');
  const { rowCount } = await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'petstore' AND query LIKE '%pg_walfile_name%'`,
  );
  assert.equal(rowCount, 1);
  for (let round = 0; round < 10; round += 1) {
    await sleep(WATCHES_MS / 10);
    assert.equal((await store.findPet(1n))?.name, REX.name);
  }
});

async function startPair(context: TestContext, { isSynchronous }: { isSynchronous: boolean }) {
  const replaced = await PostgresServer.start();
  context.after(() => replaced.close());
  const promoted = await PostgresServer.startStandby(replaced);
  context.after(() => promoted.close());
  if (!isSynchronous) {
    await replaced.query('ALTER SYSTEM RESET synchronous_standby_names');
    await replaced.query('SELECT pg_reload_conf()');
  }
  const hosts = [replaced, promoted].map(({ port }) => `127.0.0.1:${port}`).join(',');
  return { replaced, promoted, url: `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres` };
}

/** The messages of an error and of its causes. */
function reasonsOf(error: unknown): string {
  return error instanceof Error ? `${error.message}; ${reasonsOf(error.cause)}` : '';
}

async function countOf(server: PostgresServer, name: string): Promise<number> {
  const [row] = await server.query(`SELECT count(*)::int FROM pets WHERE name = '${name}'`);
  return Number(row?.[0]);
}

async function sessionsOf(server: PostgresServer): Promise<number> {
  const [row] = await server.query(
    `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'petstore'`,
  );
  return Number(row?.[0]);
}
