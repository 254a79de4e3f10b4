import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Refusal } from '../domain/errors.ts';
import type { Budgets, Portion } from '../domain/store.ts';
import { SharedRateLimit } from './shared-rate-limit.ts';

const LIMIT = { requests: 100, windowSeconds: 60 };

/** A rate limit whose store does what `take` does, and a clock that a test moves. */
function newRateLimit(
  t: TestContext,
  take: Budgets['take'],
  giveBack: Budgets['giveBack'] = async () => new Map(),
) {
  const time = { nowMs: 0 };
  const clock = { now: () => new Date(0), elapsedMs: () => time.nowMs };
  const budgets = { take, giveBack };
  const rateLimit = new SharedRateLimit(budgets, LIMIT, clock);
  t.after(() => rateLimit.close());
  return { rateLimit, time };
}

function portionOf(requests: number, left: number): Portion {
  return { requests, left, window: 1n, endsInMs: 60_000 };
}

test('a request waits for the store only if the process has used its portion', async (t) => {
  const taken = [portionOf(3, 10)];
  const never = Promise.withResolvers<Portion>();
  const { rateLimit } = newRateLimit(t, async () => taken.shift() ?? never.promise);
  assert.deepEqual(await rateLimit.count('a'), { limit: LIMIT, left: 12, secondsLeft: 60 });
  assert.deepEqual(rateLimit.count('a'), { limit: LIMIT, left: 11, secondsLeft: 60 });
  assert.deepEqual(rateLimit.count('a'), { limit: LIMIT, left: 10, secondsLeft: 60 });
  const waiting = rateLimit.count('a');
  assert.ok(waiting instanceof Promise);
  never.resolve(portionOf(1, 0));
  assert.deepEqual(await waiting, { limit: LIMIT, left: 0, secondsLeft: 60 });
  assert.equal((await rateLimit.count('a')).left, -1);
});

test('requests that wait at once share the portions, and each is counted', async (t) => {
  let left = 7;
  const { rateLimit } = newRateLimit(t, async () => {
    const requests = Math.min(2, left);
    left -= requests;
    return portionOf(requests, left);
  });
  const usages = await Promise.all(Array.from({ length: 10 }, async () => rateLimit.count('a')));
  assert.equal(usages.filter((usage) => usage.left >= 0).length, 7);
});

test('without the store, requests are not counted for 5 seconds and then refused', async (t) => {
  const away = new Refusal('unavailable', 'The store cannot be reached.');
  let isAway = true;
  const { rateLimit, time } = newRateLimit(t, async () => {
    if (isAway) throw away;
    return portionOf(5, 0);
  });
  for (const nowMs of [0, 2_500, 5_000]) {
    time.nowMs = nowMs;
    assert.ok((await rateLimit.count('a')).left > 0);
  }
  time.nowMs = 5_001;
  await assert.rejects(async () => rateLimit.count('a'), away);
  isAway = false;
  assert.equal((await rateLimit.count('a')).left, 4);
  isAway = true;
  // A new failure: 5 seconds begin again.
  time.nowMs = 100_000;
  assert.ok((await rateLimit.count('a')).left > 0);
});

test('a portion is not used after its window', async (t) => {
  let taken = 0;
  const { rateLimit, time } = newRateLimit(t, async () => portionOf(5, (taken += 1)));
  await rateLimit.count('a');
  time.nowMs = 60_000;
  await rateLimit.count('a');
  assert.equal(taken, 2);
});

test('what an idle process has not used is given back once, and nothing is asked after that', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const given: unknown[] = [];
  const { rateLimit } = newRateLimit(
    t,
    async () => portionOf(5, 20),
    async (unused) => {
      given.push(...unused);
      return new Map();
    },
  );
  await rateLimit.count('a');
  for (let second = 0; second < 5; second += 1) t.mock.timers.tick(1_000);
  assert.deepEqual(given, [
    { keyId: 'a', requests: 0, window: 1n },
    { keyId: 'a', requests: 4, window: 1n },
  ]);
});
