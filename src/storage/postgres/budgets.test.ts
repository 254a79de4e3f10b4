import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresServer } from '../../../test/postgres-server.ts';
import { openPostgresStore } from './store.ts';

const KEYS = 300;
const ROUNDS = 15;
const LIMIT = { requests: 1_000_000, windowSeconds: 3_600 };

test('processes that give back portions of the same keys at once never wait for each other in a circle', async (t) => {
  const server = await PostgresServer.start({ isDurable: false });
  t.after(() => server.close());
  const database = await server.createDatabase();
  const stores = [
    await openPostgresStore(server.url(database)),
    await openPostgresStore(server.url(database)),
  ];
  const ids = Array.from({ length: KEYS }, (_, index) => `key-${index}`);
  await Promise.all(
    stores.map(async ({ budgets }, index) => {
      assert.ok(budgets !== undefined);
      const order = index === 0 ? ids : ids.toReversed();
      for (let round = 0; round < ROUNDS; round += 1) {
        const portions = await Promise.all(order.map((keyId) => budgets.take(keyId, LIMIT)));
        const unused = portions.map(({ window, requests }, at) => ({
          keyId: order[at] ?? '',
          requests,
          window,
        }));
        await budgets.giveBack(unused, LIMIT);
      }
    }),
  );
  // PostgreSQL reports statistics when a session ends.
  for (const store of stores) await store.close();
  const [row] = await server.query(
    `SELECT deadlocks FROM pg_stat_database WHERE datname = '${database}'`,
  );
  assert.equal(Number(row?.[0]), 0);
});
