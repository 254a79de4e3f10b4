// What the monitor keeps and computes. test/web/monitor.test.ts has the page in a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '../../ops/metrics.ts';
import { History, type Buckets } from './history.ts';
import { chartsOf, quantileOf } from './series.ts';

/** A history whose clock moves five seconds with every sample. */
function newHistory(metrics: Metrics): History {
  let elapsedMs = 0;
  const clock = { now: () => new Date(elapsedMs), elapsedMs: () => (elapsedMs += 5_000) };
  return new History(() => metrics.figures(), { clock });
}

function lineOf(history: History, title: string, name: string): readonly (number | undefined)[] {
  const chart = chartsOf(history.samples).find((each) => each.title === title);
  return chart?.lines.find((line) => line.name === name)?.values ?? [];
}

test('the monitor keeps the samples of five minutes and forgets older ones', async () => {
  const history = newHistory(new Metrics([]));
  for (let count = 0; count < 100; count += 1) await history.take();
  assert.equal(history.samples.length, 61);
  const [first, last] = [history.samples[0], history.samples.at(-1)];
  assert.equal((last?.elapsedMs ?? 0) - (first?.elapsedMs ?? 0), 300_000);
});

test('rates are per second, and a count that begins again at 0 is not negative', async () => {
  const history = newHistory(new Metrics([]));
  const counts = [0, 10, 10, 4];
  for (const count of counts) {
    const metrics = new Metrics([]);
    for (let index = 0; index < count; index += 1) metrics.requestEnded('createPet', 503, 1);
    const clock = { now: () => new Date(0), elapsedMs: () => 5_000 * history.samples.length };
    const one = new History(() => metrics.figures(), { clock });
    await one.take();
    history.samples.push(...one.samples);
  }
  assert.deepEqual(lineOf(history, 'Requests', 'Creates'), [undefined, 2, 0, 0]);
  assert.deepEqual(lineOf(history, 'Errors', '5xx'), [undefined, 2, 0, 0]);
  assert.deepEqual(lineOf(history, 'Errors', '4xx'), [undefined, 0, 0, 0]);
  assert.deepEqual(lineOf(history, 'Requests', 'Reads'), [undefined, 0, 0, 0]);
});

test('an interval without requests has no latency', async () => {
  const metrics = new Metrics([]);
  const history = newHistory(metrics);
  await history.take();
  metrics.requestEnded('listPets', 200, 3);
  await history.take();
  await history.take();
  const [none, measured, idle] = lineOf(history, 'Latency', 'p99');
  assert.deepEqual([none, idle], [undefined, undefined]);
  assert.ok(measured !== undefined && measured > 2.5 && measured <= 5, String(measured));
});

test('a quantile is interpolated between the bounds of its bucket', () => {
  const empty: Buckets = new Map();
  const counted: Buckets = new Map([
    [0.01, 50],
    [0.1, 90],
    [1, 100],
    [Number.POSITIVE_INFINITY, 100],
  ]);
  assert.equal(quantileOf(empty, counted, 0.5), 10);
  assert.ok(Math.abs((quantileOf(empty, counted, 0.95) ?? 0) - 550) < 1e-6);
  assert.equal(quantileOf(counted, counted, 0.5), undefined);
  const slow: Buckets = new Map([
    [5, 0],
    [Number.POSITIVE_INFINITY, 10],
  ]);
  assert.equal(quantileOf(empty, slow, 0.99), 5_000);
});
