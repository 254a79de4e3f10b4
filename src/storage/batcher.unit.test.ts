import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../harness/until.ts';
import type { Refusal } from '../domain/errors.ts';
import { Batcher, type BatcherOptions } from './batcher.ts';
import { CALL_TIMEOUT_MS } from './deadline.ts';

/** How many items may wait, in the queue or in flight. */
const WAITING_MAX = 10_000;

/** A batcher of numbers that resolves each to its double, and the batches that it has sent. */
function newBatcher(options: Partial<BatcherOptions<number, number>> = {}) {
  const batches: number[][] = [];
  const batcher = new Batcher<number, number>({
    batchMax: 10,
    async send(batch) {
      const items = batch.map(({ item }) => item);
      batches.push(items);
      for (const { item, resolve } of batch) resolve(item * 2);
    },
    ...options,
  });
  return { batcher, batches };
}

/** A batcher whose batches stay in flight until `release` is called. */
function newHeldBatcher({
  beforeResolving,
  ...options
}: Partial<BatcherOptions<number, number>> & { beforeResolving?: () => void } = {}) {
  const held = Promise.withResolvers<void>();
  const sent: number[] = [];
  let inFlight = 0;
  let inFlightMax = 0;
  const { batcher } = newBatcher({
    async send(batch) {
      inFlight += 1;
      inFlightMax = Math.max(inFlight, inFlightMax);
      sent.push(batch.length);
      await held.promise;
      beforeResolving?.();
      inFlight -= 1;
      for (const { item, resolve } of batch) resolve(item * 2);
    },
    ...options,
  });
  return { batcher, sent, release: held.resolve, inFlightMax: () => inFlightMax };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error: Refusal) => error.code,
  );

/** Also tells whether there is a result at once. */
const codeAtOnce = (promise: Promise<unknown>) => Promise.race([codeOf(promise), turn('waiting')]);

const causeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error: Refusal) => (error.cause as Error).message,
  );

/** How many items wait, as the figures say. */
function waitingOf(batcher: Batcher<number, number>): number | undefined {
  return batcher.figures().find(({ name }) => name === 'petstore_writes_waiting')?.values[0]?.value;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('Batcher', () => {
  test('items of one turn of the event loop share a batch, in their order', async () => {
    const { batcher, batches } = newBatcher();
    const results = await Promise.all(numbers(5).map((item) => batcher.add(item)));
    assert.deepEqual(results, [0, 2, 4, 6, 8]);
    assert.deepEqual(batches, [[0, 1, 2, 3, 4]]);
  });

  test('a batch has at most batchMax items', async () => {
    const { batcher, batches } = newBatcher();
    await Promise.all(numbers(25).map((item) => batcher.add(item)));
    assert.deepEqual(
      batches.map(({ length }) => length),
      [10, 10, 5],
    );
  });

  test('one batch is in flight at a time, and what arrives meanwhile shares the next', async () => {
    const { batcher, sent, release, inFlightMax } = newHeldBatcher();
    const first = batcher.add(1);
    await until('the first batch is sent', () => sent.length === 1);
    const others = [2, 3, 4].map(async (item) => {
      await sleep(item);
      return batcher.add(item);
    });
    await sleep(50);
    assert.deepEqual(sent, [1]);
    release();
    assert.deepEqual(await Promise.all([first, ...others]), [2, 4, 6, 8]);
    assert.deepEqual(sent, [1, 3]);
    assert.equal(inFlightMax(), 1);
  });

  test('callers that send again after each result keep sharing batches', async () => {
    const { batcher, batches } = newBatcher();
    const caller = async (item: number) => {
      for (let round = 0; round < 20; round += 1) await batcher.add(item);
    };
    await Promise.all(numbers(10).map(caller));
    assert.equal(batches.length, 20);
  });

  test('after a slow batch of several items the next one waits for more items, and after a single item it does not', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const { batcher, sent, release } = newHeldBatcher({ beforeResolving: () => (nowMs += 100) });
    release();
    /** Adds an item, and another one after the end of this turn of the event loop. No timer ends in between. */
    const addTwo = async () => {
      await stat('.');
      const first = batcher.add(1);
      await turn();
      await Promise.all([first, batcher.add(2)]);
    };
    await batcher.add(1);
    await addTwo();
    assert.deepEqual(sent, [1, 1, 1]);
    await Promise.all([batcher.add(1), batcher.add(2)]);
    await addTwo();
    assert.deepEqual(sent, [1, 1, 1, 2, 2]);
  });

  test('however slow a batch was, the next one waits for a few milliseconds only', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const { batcher, release } = newHeldBatcher({ beforeResolving: () => (nowMs += 100_000) });
    release();
    await Promise.all([batcher.add(1), batcher.add(2)]);
    const late = sleep(30_000, 'late', { ref: false });
    assert.equal(await Promise.race([batcher.add(3), late]), 6);
  });

  test('more items than may wait are refused as overloaded at once, and the others are settled', async (t) => {
    t.mock.method(performance, 'now', () => 0);
    const { batcher, sent, release } = newHeldBatcher({ batchMax: 1_000 });
    const inFlight = numbers(10).map((item) => batcher.add(item));
    await until('the first batch is sent', () => sent.length === 1);
    // Those in flight are among those that may wait.
    const waiting = numbers(WAITING_MAX - 10).map((item) => batcher.add(item));
    assert.equal(await codeAtOnce(batcher.add(7)), 'overloaded');
    await assert.rejects(batcher.add(7), /^Refusal: Too many writes are waiting; try again/);
    release();
    assert.equal((await Promise.all([...inFlight, ...waiting])).length, WAITING_MAX);
    assert.equal(await batcher.add(7), 14);
  });

  test('once 64 wait, more are refused while the oldest has waited for over 60 ms, in flight or not', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const { batcher, sent, release } = newHeldBatcher();
    const accepted = [batcher.add(0)];
    await until('the first batch is sent', () => sent.length === 1);
    nowMs += 61;
    accepted.push(...numbers(63).map((item) => batcher.add(item)));
    assert.equal(await codeAtOnce(batcher.add(64)), 'overloaded');
    nowMs -= 1;
    accepted.push(batcher.add(64));
    nowMs += 1;
    release();
    await Promise.all(accepted);
    assert.equal(await batcher.add(7), 14);
  });

  test('where a commit takes 10 ms, none of 1, 32 or 256 clients is refused', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const { batcher } = newBatcher({
      batchMax: 500,
      async send(batch) {
        nowMs += 5;
        await turn();
        nowMs += 5 + batch.length * 0.05;
        for (const { item, resolve } of batch) resolve(item * 2);
      },
    });
    const client = async (number: number) => {
      for (const round of numbers(20)) {
        assert.equal(await batcher.add(round), round * 2);
        for (let turns = number % 3; turns > 0; turns -= 1) await turn();
      }
    };
    for (const clients of [1, 32, 256]) await Promise.all(numbers(clients).map(client));
  });

  test('an error of the whole batch rejects each of its items with its cause, and the next batch is sent', async () => {
    let isBroken = true;
    const { batcher } = newBatcher({
      async send(batch) {
        if (isBroken) throw new Error('the disk is full');
        for (const { item, resolve } of batch) resolve(item * 2);
      },
    });
    const causes = await Promise.all([1, 2].map((item) => causeOf(batcher.add(item))));
    assert.deepEqual(causes, ['the disk is full', 'the disk is full']);
    isBroken = false;
    assert.equal(await batcher.add(3), 6);
  });

  test('a batch has the deadline of its oldest item', async () => {
    const beganMs = performance.now();
    const deadlines: number[] = [];
    const { batcher } = newBatcher({
      async send(batch, deadline) {
        deadlines.push(deadline, ...batch.map((pending) => pending.deadline));
        for (const { item, resolve } of batch) resolve(item * 2);
      },
    });
    await Promise.all([batcher.add(1), batcher.add(2)]);
    const [ofBatch, ofFirst = 0, ofSecond = 0] = deadlines;
    assert.equal(ofBatch, ofFirst);
    assert.ok(ofFirst >= beganMs + CALL_TIMEOUT_MS);
    assert.ok(ofSecond >= ofFirst);
  });

  test('an item that has too little time left when its turn comes is refused and not sent', async (t) => {
    const { batcher, sent, release } = newHeldBatcher();
    const first = batcher.add(1);
    await until('the first batch is sent', () => sent.length === 1);
    const late = batcher.add(2);
    const nowMs = performance.now() + CALL_TIMEOUT_MS - 500;
    t.mock.method(performance, 'now', () => nowMs);
    const inTime = batcher.add(3);
    release();
    assert.equal(await causeOf(late), 'the items before it took too long');
    assert.deepEqual(await Promise.all([first, inTime]), [2, 6]);
    assert.deepEqual(sent, [1, 1]);
  });

  test('waiting items can be rejected; the batch in flight is not touched', async () => {
    const { batcher, sent, release } = newHeldBatcher();
    const first = batcher.add(1);
    await until('the first batch is sent', () => sent.length === 1);
    const waiting = causeOf(batcher.add(2));
    assert.equal(waitingOf(batcher), 2);
    batcher.rejectWaiting(new Error('the file is gone'));
    assert.equal(await waiting, 'the file is gone');
    assert.equal(waitingOf(batcher), 1);
    release();
    assert.equal(await first, 2);
    assert.deepEqual(sent, [1]);
  });

  test('close settles everything that was accepted, and refuses what comes later', async () => {
    const { batcher, sent, release } = newHeldBatcher();
    const first = batcher.add(1);
    await until('the first batch is sent', () => sent.length === 1);
    const waiting = batcher.add(2);
    const closed = batcher.close();
    assert.equal(await codeOf(batcher.add(3)), 'unavailable');
    release();
    await closed;
    assert.deepEqual(await Promise.all([first, waiting]), [2, 4]);
    await batcher.close();
  });

  test('a batcher that was closed by a fault names it, also when it is closed again', async () => {
    const { batcher } = newHeldBatcher();
    const fault = new Error('the disk is gone');
    await batcher.close(fault);
    await batcher.close();
    await assert.rejects(batcher.add(1), ({ cause }: Error) => cause === fault);
  });
});
