// One rate limit for all processes that use a database.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { serve } from '../../harness/service-process.ts';
import {
  send,
  startTestService,
  storageOf,
  type Received,
  type TestService,
} from '../../harness/test-service.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { until } from '../../harness/until.ts';

const LIMIT = 200;
const CONCURRENCY = 8;

/** A service with connections of its own to the database, which cannot tell that others are in the same process. */
async function startHere(t: TestContext, flags: string[]): Promise<TestService> {
  const service = await startTestService(storageOf(...flags));
  t.after(() => service.close());
  return service;
}

test('processes on one PostgreSQL have one rate limit', async (t) => {
  const server = await PostgresServer.start({ isDurable: false });
  t.after(() => server.close());
  const url = server.url(await server.createDatabase());
  const flags = ['--database', url, '--rate-limit', `${LIMIT}/3600s`];
  // The workers of one service share the limit through the database, too.
  const services = [await startHere(t, flags), await serve(t, [...flags, '--workers', '2'])];
  // They need nothing of the store but to be counted, which a busy machine may delay for too long.
  const newCounter = (key: string) => {
    const counts = { counted: 0, uncounted: 0 };
    const headers = { authorization: `Bearer ${key}` };
    const count = async (index: number): Promise<Received> => {
      const received = await send(`${services[index]?.baseUrl}/pets?limit=0`, { headers });
      const { status } = received;
      assert.ok([400, 429, 503].includes(status), `the status is ${status}`);
      const isUncounted = status === 503 || (counts.counted > 0 && isLeft(received, LIMIT - 1));
      if (status !== 429) counts[isUncounted ? 'uncounted' : 'counted'] += 1;
      return received;
    };
    return { counts, count };
  };

  await t.test('they never exceed it together, and leave at most 5 % per process', async () => {
    const { counts, count } = newCounter(services[0]?.key ?? '');
    const first = await count(0);
    assert.equal(first.headers['ratelimit-policy'], `"default";q=${LIMIT};w=3600`);
    assert.match(String(first.headers['ratelimit']), /^"default";r=199;t=\d+$/);
    let sent = 0;
    const sender = async () => {
      while (sent < 2 * LIMIT) {
        sent += 1;
        await count(sent % 3 === 0 ? 1 : 0);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sender));
    for (const index of [0, 1]) {
      let over = await count(index);
      while (over.status !== 429) over = await count(index);
      assert.match(String(over.headers['ratelimit']), /^"default";r=0;t=\d+$/);
      assert.ok(Number(over.headers['retry-after']) > 3_000);
    }
    assert.ok(counts.counted <= LIMIT, `${counts.counted} accepted`);
    // At least one of the three processes has used up all it took. A portion whose reply was late is lost.
    const least = counts.uncounted === 0 ? (1 - 2 * 0.05) * LIMIT : 1;
    assert.ok(counts.counted >= least, `${counts.counted} accepted`);
  });

  await t.test('what an idle process has not used of its portion stays unused', async () => {
    const secret = newSecret('production', randomBytes);
    const record = newApiKey({
      secret,
      name: 'second',
      now: new Date(),
      randomBytes,
    });
    const store = await openPostgresStore(url, NEW_STORE);
    await store.createApiKey(record);
    await store.close();
    const { counts, count } = newCounter(secret);
    await count(1);
    while ((await count(0)).status !== 429);
    // A twentieth of 200 is 10, and one of them was used.
    const { counted, uncounted } = counts;
    assert.ok(counted <= LIMIT - 9 && (counted === LIMIT - 9 || uncounted > 0), `${counted} of it`);
  });

  await t.test('the next window begins by the clock of the database', async (inner) => {
    const one = await startHere(inner, ['--database', url, '--rate-limit', '1/1s']);
    const headers = { authorization: `Bearer ${services[0]?.key}` };
    const invalid = () => send(`${one.baseUrl}/pets?limit=0`, { headers });
    // Several at once, because on a busy machine one after the other may take a window each.
    const statuses = async () => {
      const received = await Promise.all([invalid(), invalid(), invalid()]);
      return received.map(({ status }) => status);
    };
    // The window of an hour is over for the database once its limit is a second.
    for (const wanted of [400, 429, 400]) {
      await until(`one is ${wanted}`, async () => (await statuses()).includes(wanted));
    }
  });
});

test('rate limit: without PostgreSQL, requests that need a portion are refused, and counted again afterwards', async (t) => {
  const server = await PostgresServer.start({ isDurable: true });
  t.after(() => server.close());
  const service = await startHere(t, ['--database', server.url(), '--rate-limit', '20/3600s']);
  const headers = { authorization: `Bearer ${service.key}` };
  // It needs nothing of the store but to be counted.
  const invalid = () => send(`${service.baseUrl}/pets?limit=0`, { headers });
  const untilLeft = (left: number) =>
    until(`${left} are left`, async () => isLeft(await invalid(), left));
  await untilLeft(19);
  await server.kill();
  const { status, text } = await invalid();
  assert.equal(status, 503);
  assert.match(text, /"code":"unavailable"/);
  await server.start();
  await untilLeft(18);
});

function isLeft({ status, headers }: Received, left: number): boolean {
  return status === 400 && String(headers['ratelimit']).startsWith(`"default";r=${left};`);
}
