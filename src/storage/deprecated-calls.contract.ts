// What every store promises about the counts of deprecated calls; a part of store.contract.ts.

import assert from 'node:assert/strict';
import type { Store } from '../domain/store.ts';

type PromiseOf = (
  title: string,
  keep: (store: Store, more: { open: () => Promise<Store> }) => Promise<void>,
) => void;

const NOON = new Date('2026-11-15T12:00:00.000Z');
const DAY_MS = 24 * 3_600_000;
const daysBefore = (days: number) => new Date(NOON.getTime() - days * DAY_MS);

export function deprecatedCalls(promise: PromiseOf): void {
  promise(
    'calls are counted for 7, 30 and 90 days, and the latest caller is first',
    async (store) => {
      assert.deepEqual(await store.listDeprecatedCalls(NOON), []);
      for (const days of [89, 30, 29, 7, 6, 0]) {
        await store.recordDeprecatedCalls(new Map([['key_a', 10 ** 10 + days]]), daysBefore(days));
      }
      await store.recordDeprecatedCalls(new Map([['key_b', 1]]), daysBefore(1));
      await store.recordDeprecatedCalls(new Map(), NOON);
      assert.deepEqual(await store.listDeprecatedCalls(NOON), [
        {
          apiKeyId: 'key_a',
          last7Days: 2 * 10 ** 10 + 6,
          last30Days: 4 * 10 ** 10 + 42,
          last90Days: 6 * 10 ** 10 + 161,
          lastAt: NOON,
        },
        { apiKeyId: 'key_b', last7Days: 1, last30Days: 1, last90Days: 1, lastAt: daysBefore(1) },
      ]);
    },
  );

  promise('a day is a day in UTC', async (store) => {
    await store.recordDeprecatedCalls(new Map([['a', 1]]), new Date('2026-11-08T23:59:59.999Z'));
    await store.recordDeprecatedCalls(new Map([['a', 2]]), new Date('2026-11-09T00:00:00.000Z'));
    for (const now of ['2026-11-15T00:00:00.000Z', '2026-11-15T23:59:59.999Z']) {
      const [calls] = await store.listDeprecatedCalls(new Date(now));
      assert.deepEqual([calls?.last7Days, calls?.last30Days], [2, 3]);
    }
  });

  promise(
    'the calls of several processes are added up, and the latest date stays',
    async (store, more) => {
      const stores = [store, await more.open(), await more.open()];
      const keys = Array.from({ length: 20 }, (_, index) => `key_${index}`);
      await Promise.all(
        Array.from({ length: 30 }, async (_, round) => {
          const order = round % 2 === 0 ? keys : keys.toReversed();
          const calls = new Map(order.map((key) => [key, 2]));
          const at = new Date(NOON.getTime() - round);
          await stores[round % stores.length]?.recordDeprecatedCalls(calls, at);
        }),
      );
      const found = await store.listDeprecatedCalls(NOON);
      assert.deepEqual(
        found.map(({ last7Days, lastAt }) => [last7Days, lastAt]),
        keys.map(() => [60, NOON]),
      );
    },
  );

  promise(
    'of a key that still calls, days beyond 90 are removed; of others the last call stays',
    async (store) => {
      for (const key of ['active', 'silent']) {
        for (const days of [200, 91, 90]) {
          await store.recordDeprecatedCalls(new Map([[key, 1]]), daysBefore(days));
        }
      }
      await store.recordDeprecatedCalls(new Map([['active', 5]]), NOON);
      const none = { last7Days: 0, last30Days: 0, last90Days: 0 };
      assert.deepEqual(await store.listDeprecatedCalls(NOON), [
        { apiKeyId: 'active', last7Days: 5, last30Days: 5, last90Days: 5, lastAt: NOON },
        { apiKeyId: 'silent', ...none, lastAt: daysBefore(90) },
      ]);
      // Seen from an earlier day, what was removed is gone.
      const [active] = await store.listDeprecatedCalls(daysBefore(60));
      assert.equal(active?.last90Days, 5);
    },
  );
}
