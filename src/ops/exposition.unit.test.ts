import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkersExposition } from './exposition.ts';
import { counter, gauge, Histogram, type Figure } from './metrics.ts';

/** A worker without a process, which responds to no request. */
class SilentWorker {
  received = 0;
}

const figuresOf = (created: number, memory: number) => [
  counter('created_total', 'Created.', created),
  durationsOf(created),
  gauge('memory_bytes', 'Memory.', memory),
  gauge('keys', 'Keys.', 3, 'max'),
];

/** So many requests, each of a second. */
function durationsOf(count: number): Figure {
  const durations = new Histogram([]);
  for (let added = 0; added < count; added += 1) durations.add(1);
  return durations.figure('duration_seconds', 'Durations.');
}

/** The figures of workers, and a function that reports those of one. */
function newExposition(initial: Figure[]) {
  const exposition = new WorkersExposition<SilentWorker>(initial, (worker) => {
    worker.received += 1;
  });
  const report = (worker: SilentWorker, metrics: Figure[], isRequested = false) =>
    exposition.take(worker, { metrics, isRequested });
  return { exposition, report };
}

async function valuesOf(
  exposition: WorkersExposition<SilentWorker>,
): Promise<Record<string, number>> {
  const figures = await exposition.figures();
  return Object.fromEntries(figures.map(({ name, values }) => [name, values[0]?.value ?? 0]));
}

test('the figures of workers are added up; those of an ended one stay only if they count events', async () => {
  const { exposition, report } = newExposition(figuresOf(0, 1_000));
  assert.deepEqual(await valuesOf(exposition), { created_total: 0, duration_seconds: 0 });
  const [one, other, silent] = [new SilentWorker(), new SilentWorker(), new SilentWorker()];
  report(one, figuresOf(1, 10));
  report(one, figuresOf(2, 20));
  report(other, figuresOf(4, 40));
  // A worker may end before its first report.
  exposition.remove(silent);
  const counted = { created_total: 6, duration_seconds: 6 };
  assert.deepEqual(await valuesOf(exposition), { ...counted, memory_bytes: 60, keys: 3 });
  exposition.remove(one);
  assert.deepEqual(await valuesOf(exposition), { ...counted, memory_bytes: 40, keys: 3 });
});

test('a scrape waits for the reports of all workers, and sends none a second request', async () => {
  const { exposition, report } = newExposition([]);
  const [one, other] = [new SilentWorker(), new SilentWorker()];
  report(one, figuresOf(1, 10));
  report(other, figuresOf(2, 20));
  const scrapes = [exposition.text(), exposition.text()];
  assert.deepEqual([one.received, other.received], [1, 1]);
  // This one was sent before the request.
  report(one, figuresOf(3, 30));
  report(one, figuresOf(5, 50), true);
  exposition.remove(other);
  for (const text of await Promise.all(scrapes)) {
    assert.match(text, /^created_total 7$/m);
    assert.match(text, /^memory_bytes 50$/m);
  }
  const next = exposition.text();
  assert.equal(one.received, 2);
  report(one, figuresOf(6, 60), true);
  assert.match(await next, /^created_total 8$/m);
});
