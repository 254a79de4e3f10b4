import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { OPERATIONS, parseResult, requestsOf, type Paths } from './load.ts';
import type { Cell, Row } from './measure.ts';
import { benchmarksPage, type Results } from './page.ts';
import { processorMicroseconds } from './processes.ts';
import { median, newFigure, quantity, ratiosOf, valuesOutside, verdictOf } from './statistics.ts';

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing was measured/);
});

test('ratios compare what was measured in the same rounds', () => {
  assert.deepEqual(ratiosOf([10, 30, 20], [10, 10, 5]), [1, 3, 4]);
  assert.throws(() => ratiosOf([1, 2], [1]), /counterpart/);
});

test('the interval goes from the k-th lowest to the k-th highest value, k by the binomial distribution', () => {
  // 2 × P(B(n, 1/2) < k) is at most 5 %: tables of the sign test give these k.
  assert.deepEqual([5, 6, 8, 9, 15, 20].map(valuesOutside), [0, 1, 1, 2, 4, 6]);
  assert.deepEqual(newFigure([5, 1, 4, 2, 3, 9, 7, 6, 8]), { median: 5, low: 2, high: 8 });
  const { low, high } = newFigure([1, 2, 3, 4, 5]);
  assert.deepEqual([low, high], [-Infinity, Infinity]);
});

/** Of a goal of at least 2, and of one of at most 2. */
const verdicts = (values: number[]) =>
  [{ atLeast: 2 }, { atMost: 2 }].map((bound) => verdictOf(bound, newFigure(values)));

test('a goal is met or missed only if the interval is on one side of it; otherwise it is within noise', () => {
  assert.deepEqual(verdicts([2, 3, 3, 3, 3, 3]), ['yes', 'within noise']);
  assert.deepEqual(verdicts([2.1, 3, 3, 3, 3, 3]), ['yes', 'no']);
  assert.deepEqual(verdicts([1, 1, 1, 1, 1, 1.9]), ['no', 'yes']);
  assert.deepEqual(verdicts([1.9, 3, 3, 3, 3, 3]), ['within noise', 'within noise']);
  assert.deepEqual(verdicts([3, 3, 3]), ['within noise', 'within noise']);
});

test('a quantity has two decimals below 10, one below 100 and none above', () => {
  assert.deepEqual([0.5, 1.256, 12.34, 1234567.8].map(quantity), [
    '0.50',
    '1.26',
    '12.3',
    '1,234,568',
  ]);
});

test('the processor time of processes is that of their threads, and of children that have ended', (t) => {
  const before = processorMicroseconds([process.pid]);
  if (before === 0) return t.skip('needs Linux');
  const untilMs = performance.now() + 30;
  while (performance.now() < untilMs) Math.sqrt(untilMs);
  const own = processorMicroseconds([process.pid]);
  assert.ok(own > before);
  const burn = 'while (process.cpuUsage().user < 300_000);';
  const ended = spawnSync(process.execPath, ['-e', burn]).pid;
  assert.ok(processorMicroseconds([process.pid, ended]) - own > 250_000);
});

const generatorOutput = (failed: number) =>
  `Running 1s test\nRESULT {"requests":300,"seconds":1.5,"p50Ms":1,"p99Ms":2.5,"failed":${failed}}\nend`;

test('the output of the generator is parsed, and is an error if a request failed', () => {
  assert.deepEqual(parseResult(generatorOutput(0)), {
    requests: 300,
    rate: 200,
    p50Ms: 1,
    p99Ms: 2.5,
  });
  assert.throws(() => parseResult(generatorOutput(3)), /3 of 300 requests failed/);
  assert.throws(() => parseResult('unable to connect'), /unable to connect/);
});

const PATHS: Paths = {
  create: '/pets',
  page: ({ after = 0, limit = 20, status = '' }) => `/pets?${after}&${limit}&${status}`,
  pet: (id) => `/pets/${id}`,
};

test('pages by cursor are all different, in a small store too, and have 20 animals on average', () => {
  const pages = requestsOf('list by cursor', PATHS, 1_000);
  assert.equal(new Set(pages).size, pages.length);
  const limits = pages.map((page) => Number(page.split('&')[1]));
  assert.ok(Math.abs(limits.reduce((sum, each) => sum + each, 0) / pages.length - 20) < 0.01);
});

test('every animal of the store is got once, before the first is got again', () => {
  const gets = requestsOf('get', PATHS, 10_000);
  assert.equal(new Set(gets).size, 10_000);
  assert.ok(gets.includes('GET /pets/1') && gets.includes('GET /pets/10000'));
});

test('the mixed load has 90 % lists, of walks and with a filter, and 10 % creates with a key', () => {
  const requests = requestsOf('mixed', PATHS, 10_000);
  const share = (pattern: RegExp) =>
    requests.filter((each) => pattern.test(each)).length / requests.length;
  assert.deepEqual([/^KEYED/, /&20&$/, /&20&\w/].map(share), [0.1, 0.7, 0.2]);
  assert.deepEqual(requests[10], requests[0]?.replace('?0', '?20'), 'the first walk goes on');
});

const repeated = (value: number) => Array.from({ length: 15 }, () => value);

/** Rows whose costs are the same in every round. */
function rowsOf(costs: Record<string, number>): Row[] {
  return Object.entries(costs).map(([contender, cost]) => {
    const cell: Cell = {
      rates: repeated(1e6 / cost),
      p50Ms: repeated(1),
      p99Ms: repeated(2.5),
      microseconds: repeated(cost),
      databaseMicroseconds: repeated(cost / 4),
    };
    const cells = Object.fromEntries(OPERATIONS.map((operation) => [operation, cell]));
    return { contender, memoryMib: [99.6], cells };
  });
}

test('the page has rates, goals by processor time, what is missing, and the cores that a load needs', () => {
  const results: Results = {
    origin: ['commit abc'],
    missing: ['PocketBase: Go is not installed'],
    pageBytes: 2_000,
    sqlite: rowsOf({ petstore: 60, bare: 30, go: 120 }),
    postgres: rowsOf({ petstore: 100 }),
    growth: [],
  };
  const page = benchmarksPage(results);
  assert.match(page, /\| petstore \| 16,667 \(1, 2\.50\) \|.*\| 100 \|/);
  assert.match(page, /\| create \| at least 2 × go \| 2 \(2 – 2\) \| yes \| 60 against 120 \|/);
  assert.match(page, /\| create \| at most 1\.90 × the cost of bare \| 2 \(2 – 2\) \| no \|/);
  assert.match(page, /\| create, PostgreSQL \| at least 2 × go \| – \|/);
  assert.match(page, /- PocketBase: Go is not installed\n/);
  // 10,000 requests of 60 µs; on PostgreSQL 75 of the process and 25 of its own.
  assert.match(page, /SQLite: busy cores \| 0\.06 \| 0\.60 \| 6 \|/);
  assert.match(page, /SQLite: workers \| 1 \| 1 \| 10 \|/);
  assert.match(page, /its own busy cores \| 0\.03 \| 0\.25 \| 2\.50 \|/);
  assert.doesNotMatch(page, /\{\{|undefined|NaN/);
});

test('docs/benchmarks.md is made from the results of the last run', () => {
  const results = JSON.parse(read('bench/results.json')) as Results;
  assert.equal(read('docs/benchmarks.md'), benchmarksPage(results), 'npm run bench -- --page');
});
