import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { newRandom } from '../../harness/random.ts';
import { Refusal } from '../domain/errors.ts';
import type { Portion, TakePortion } from '../domain/rate-limit.ts';
import { RateLimiter, wholeLimit } from './rate-limit.ts';

const LIMIT = { requests: 100, windowSeconds: 60 };

/** A clock that a test moves. */
function newClock() {
  const time = { nowMs: 0 };
  return { time, clock: { now: () => new Date(0), elapsedMs: () => time.nowMs } };
}

function newRateLimiter(takePortion: TakePortion) {
  const { time, clock } = newClock();
  return { rateLimiter: new RateLimiter(LIMIT, takePortion, clock), time };
}

function portionOf(requests: number, left: number): Portion {
  return { requests, left, endsInMs: 60_000 };
}

test('rate limit: a request waits for the counter only if the process has used its portion', async () => {
  const taken = [portionOf(3, 10)];
  const never = Promise.withResolvers<Portion>();
  const { rateLimiter } = newRateLimiter(async () => taken.shift() ?? never.promise);
  assert.deepEqual(await rateLimiter.count('a'), { limit: LIMIT, left: 12, secondsLeft: 60 });
  assert.deepEqual(await rateLimiter.count('a'), { limit: LIMIT, left: 11, secondsLeft: 60 });
  assert.deepEqual(await rateLimiter.count('a'), { limit: LIMIT, left: 10, secondsLeft: 60 });
  const waiting = rateLimiter.count('a');
  assert.equal(await Promise.race([waiting, turn('it waits')]), 'it waits');
  never.resolve(portionOf(1, 0));
  assert.deepEqual(await waiting, { limit: LIMIT, left: 0, secondsLeft: 60 });
  assert.equal((await rateLimiter.count('a')).left, -1);
});

test('rate limit: requests that wait at once share the portions, and each is counted', async () => {
  let left = 7;
  let taking = 0;
  const { rateLimiter } = newRateLimiter(async () => {
    taking += 1;
    assert.equal(taking, 1);
    await Promise.resolve();
    taking -= 1;
    const requests = Math.min(2, left);
    left -= requests;
    return portionOf(requests, left);
  });
  const usages = await Promise.all(Array.from({ length: 10 }, async () => rateLimiter.count('a')));
  assert.equal(usages.filter((usage) => usage.left >= 0).length, 7);
});

test('rate limit: without the counter, a request that needs a portion is refused, and the next one asks again', async () => {
  const away = new Refusal('unavailable', 'The store cannot be reached.');
  const taken: (Portion | Refusal)[] = [portionOf(1, 5), away, portionOf(1, 4)];
  const { rateLimiter } = newRateLimiter(async () => {
    const portion = taken.shift() ?? assert.fail('one portion more is taken');
    if (portion instanceof Refusal) throw portion;
    return portion;
  });
  assert.equal((await rateLimiter.count('a')).left, 5);
  await assert.rejects(async () => rateLimiter.count('a'), away);
  assert.equal((await rateLimiter.count('a')).left, 4);
});

test('rate limit: a portion is not used after its window', async () => {
  let taken = 0;
  const { rateLimiter, time } = newRateLimiter(async () => portionOf(5, (taken += 1)));
  await rateLimiter.count('a');
  time.nowMs = 60_000;
  await rateLimiter.count('a');
  assert.equal(taken, 2);
});

test('rate limit: a window does not end later because the reply of its counter was slow', async () => {
  const reply = Promise.withResolvers<Portion>();
  const { rateLimiter, time } = newRateLimiter(() => reply.promise);
  const waiting = rateLimiter.count('a');
  time.nowMs = 20_000;
  reply.resolve(portionOf(5, 0));
  assert.equal((await waiting).secondsLeft, 40);
});

test('rate limit: one process counts exactly, and waits for nothing after the first request of a window', async () => {
  const { time, clock } = newClock();
  const rateLimiter = new RateLimiter(LIMIT, wholeLimit(LIMIT), clock);
  for (const startMs of [0, 60_000]) {
    time.nowMs = startMs;
    assert.deepEqual(await rateLimiter.count('a'), { limit: LIMIT, left: 99, secondsLeft: 60 });
    time.nowMs = startMs + 59_999;
    for (let left = 98; left >= -1; left -= 1) {
      assert.deepEqual(await rateLimiter.count('a'), { limit: LIMIT, left, secondsLeft: 1 });
    }
    assert.deepEqual(await rateLimiter.count('a'), { limit: LIMIT, left: -1, secondsLeft: 1 });
  }
});

for (const requests of [1, 2, 20, 21, 39, 40, 41, 200, 999, 10_000]) {
  test(`three processes never accept more than a rate limit of ${requests}, and two of them leave at most 5 % each`, async () => {
    const { clock } = newClock();
    const limit = { requests, windowSeconds: 60 };
    const counter = { left: requests };
    // As PostgreSQL counts: src/storage/postgres/portions.test.ts.
    const takePortion = () => {
      const taken = Math.min(counter.left, Math.max(1, Math.floor(counter.left / 20)));
      counter.left -= taken;
      return portionOf(taken, counter.left);
    };
    const processes = [0, 1, 2].map(() => new RateLimiter(limit, takePortion, clock));
    const random = newRandom(requests);
    let accepted = 0;
    const count = async (process: RateLimiter | undefined) => {
      const usage = await process?.count('a');
      if (usage !== undefined && usage.left >= 0) accepted += 1;
    };
    const before = random.integer(requests);
    for (let sent = 0; sent < before; sent += 1) await count(processes[random.integer(3)]);
    // The other two get no more requests, so what they hold stays unused.
    for (let sent = 0; sent < requests; sent += 1) await count(processes[0]);
    assert.ok(
      accepted <= requests && accepted >= requests - 2 * 0.05 * requests,
      `${accepted} accepted`,
    );
    // Each portion is one request.
    if (requests < 40) assert.equal(accepted, requests);
  });
}
