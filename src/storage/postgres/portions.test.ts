import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresServer } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import type { Portion } from '../../domain/rate-limit.ts';
import { openPostgresStore } from './store.ts';

const LIMIT = { requests: 200, windowSeconds: 3_600 };
const PROCESSES = 3;
/** Well within the window of an hour, however slow the machine is. */
const ELAPSED_MS_MAX = 600_000;
const HOUR_MS = 3_600_000;
const CLOCK_TOLERANCE_MS = 60_000;

test('rate limit: portions in PostgreSQL', async (t) => {
  const server = await PostgresServer.start({ isDurable: false });
  t.after(() => server.close());
  const database = await server.createDatabase();
  const stores = await Array.fromAsync({ length: PROCESSES }, () =>
    openPostgresStore(server.url(database), NEW_STORE),
  );
  t.after(() => Promise.all(stores.map((store) => store.close())));
  const take = async (keyId: string, index = 0): Promise<Portion> => {
    const portion = await stores[index]?.portions?.(LIMIT)(keyId);
    assert.ok(portion !== undefined);
    assert.ok(portion.endsInMs <= HOUR_MS + CLOCK_TOLERANCE_MS);
    assert.ok(portion.endsInMs > HOUR_MS - ELAPSED_MS_MAX);
    return portion;
  };
  const takeAll = async (keyId: string, index: number) => {
    let sum = 0;
    for (let requests = 1; requests > 0; sum += requests) {
      ({ requests } = await take(keyId, index));
    }
    return sum;
  };
  /** The row of a key as another process, or a clock that has since changed, may have left it. */
  const setRow = (keyId: string, taken: number, endsInMs: number) =>
    server.query(
      `INSERT INTO rate_limits (api_key_id, ends_at, taken, portion)
       VALUES ('${keyId}', extract(epoch FROM clock_timestamp()) * 1000 + ${endsInMs}, ${taken}, 1)
       ON CONFLICT (api_key_id) DO UPDATE SET (ends_at, taken) = (excluded.ends_at, excluded.taken)`,
      database,
    );

  await t.test('a portion is a twentieth of what is left, and at least one request', async () => {
    const expected: [taken: number, requests: number, left: number][] = [
      [0, 10, 190],
      [100, 5, 95],
      [159, 2, 39],
      [161, 1, 38],
      [199, 1, 0],
      [200, 0, 0],
      // A process with a higher limit has taken more.
      [250, 0, 0],
    ];
    for (const [taken, requests, left] of expected) {
      await setRow('sizes', taken, HOUR_MS);
      const portion = await take('sizes');
      assert.deepEqual([portion.requests, portion.left], [requests, left], `${taken} taken`);
    }
  });

  await t.test('portions that processes take at once add up to the limit exactly', async () => {
    const sums = await Promise.all(stores.map((_, index) => takeAll('shared', index)));
    assert.equal(
      sums.reduce((sum, each) => sum + each),
      LIMIT.requests,
    );
  });

  await t.test('a new window begins when the last one is over', async () => {
    await setRow('over', 200, -1);
    assert.equal((await take('over')).left, 190);
  });

  await t.test('a new window begins when the clock of the database was set back', async () => {
    await setRow('set-back', 200, 24 * HOUR_MS);
    assert.equal((await take('set-back')).left, 190);
  });

  await t.test('a clock that differs by less than a minute begins no new window', async () => {
    await setRow('differs', 200, HOUR_MS + CLOCK_TOLERANCE_MS / 2);
    assert.equal((await take('differs')).requests, 0);
  });
});
