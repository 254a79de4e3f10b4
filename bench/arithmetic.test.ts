import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createsMax, planFor, type Factors } from './capacity.ts';
import { parseCoreList } from './cores.ts';
import { parseResult } from './generator.ts';
import { reasonToRefuse } from './processes.ts';
import { benchmarksPage, capacityPart, generatedPart } from './report.ts';
import { readResults, type Results } from './results.ts';
import { newRow, quantity, unmeasuredRow } from './row.ts';
import { inverse, median, newFigure, ratioFigure } from './statistics.ts';

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing was measured/);
});

test('a ratio figure is the median of the ratios of adjacent rounds, with the lowest and the highest', () => {
  assert.deepEqual(ratioFigure([10, 30, 20], [10, 10, 10]), { median: 2, lowest: 1, highest: 3 });
  assert.deepEqual(inverse({ median: 2, lowest: 1, highest: 4 }), {
    median: 0.5,
    lowest: 0.25,
    highest: 1,
  });
  assert.throws(() => ratioFigure([1, 2], [1]), /counterpart/);
});

test('a goal is met or missed only if the whole range is on one side of it; otherwise it is within noise', () => {
  const parts = { what: 'list', unit: '× bare' };
  const verdicts = (values: number[]) =>
    [{ atLeast: 2 }, { atMost: 2 }].map(
      (bound) => newRow({ ...parts, bound, figure: newFigure(values) }).verdict,
    );
  assert.deepEqual(verdicts([2, 3, 2.5]), ['yes', 'within noise']);
  assert.deepEqual(verdicts([2.1, 3]), ['yes', 'no']);
  assert.deepEqual(verdicts([1, 1.9]), ['no', 'yes']);
  assert.deepEqual(verdicts([1.9, 2.1]), ['within noise', 'within noise']);
});

test('a figure of one sample is shown without a range', () => {
  const parts = { what: 'list', unit: '× bare', bound: { atLeast: 2 } };
  assert.equal(newRow({ ...parts, figure: newFigure([1, 3]) }).shown, '2 × bare (1 – 3)');
  assert.equal(newRow({ ...parts, figure: newFigure([2.5]) }).shown, '2.50 × bare');
});

test('figures are not published if others used the machine, or its host did', () => {
  assert.equal(reasonToRefuse({ stolen: 0.01, others: 0.02 }), undefined);
  assert.match(reasonToRefuse({ stolen: 0.01, others: 0.3 }) ?? '', /other processes used 30 %/);
  assert.match(reasonToRefuse({ stolen: 0.2, others: 0 }) ?? '', /20 % of the processor time/);
});

test('a quantity has two decimals below 10, one below 100 and none above', () => {
  assert.deepEqual([0.5, 1.256, 12.34, 1234567.8].map(quantity), [
    '0.50',
    '1.26',
    '12.3',
    '1,234,568',
  ]);
});

function generatorOutput(failed: number): string {
  return `Running 1s test\nRESULT {"requests":300,"seconds":1.5,"p50Ms":1,"p99Ms":2.5,"failed":${failed}}\nend`;
}

test('the output of a generator is parsed, and is an error if a request failed', () => {
  assert.deepEqual(parseResult(generatorOutput(0)), {
    requestsPerSecond: 200,
    p50Ms: 1,
    p99Ms: 2.5,
    requests: 300,
  });
  assert.throws(() => parseResult(generatorOutput(3)), /3 of 300 requests failed/);
  assert.throws(() => parseResult('unable to connect'), /unable to connect/);
});

test('a list of cores is parsed in the format of /proc/self/status', () => {
  assert.deepEqual(parseCoreList('0-2,8'), [0, 1, 2, 8]);
  assert.deepEqual(parseCoreList(''), []);
});

test('the benchmarks page puts ratios by processor time first, names commit and date, and keeps the part by hand', () => {
  const parts = { unit: '× bare', bound: { atLeast: 1 }, figure: newFigure([1]) };
  const entry = { commit: 'abc', date: '2026-01-02', machine: ['a machine'] };
  const results: Results = {
    start: { ...entry, rows: [newRow({ ...parts, what: 'by time' })] },
    list: {
      ...entry,
      rows: [newRow({ ...parts, what: 'by cost', isByProcessorTime: true })],
      cells: [
        { contender: 'petstore', column: 'list', figure: newFigure([1, 3]) },
        { contender: 'go-sqlite', column: 'list', why: 'Go is not installed' },
      ],
    },
    get: { ...entry, commit: 'def', rows: [unmeasuredRow({ ...parts, what: 'get' }, 'no Go')] },
  };
  const first = benchmarksPage(results, '');
  assert.match(first, /by cost[^]*by time/);
  assert.match(first, /Commit abc, 2026-01-02 \(start, list\):[^]*Commit def, 2026-01-02 \(get\):/);
  assert.match(
    first,
    /\| petstore \| 2 \(1 – 3\) \|\n\| go-sqlite \| not measured: Go is not inst/,
  );
  assert.match(first, /\| get \| at least 1 × bare \| not measured \|  \| not measured: no Go \|/);
  const byHand = first.replace('<!-- by hand: to here -->', 'Words.\n<!-- by hand: to here -->');
  const second = benchmarksPage(results, byHand);
  assert.match(second, /from here -->\nWords\.\n<!--/);
  assert.equal(benchmarksPage(results, second), second);
});

const FACTORS: Factors = {
  sqliteListMicroseconds: 50,
  sqliteCreateMicroseconds: 60,
  listProcessMicroseconds: 100,
  listDatabaseMicroseconds: 50,
  createProcessMicroseconds: 60,
  createDatabaseMicroseconds: 20,
  commitMs: 2,
  createMs: 0.01,
  commitWalBytes: 300,
  createWalBytes: 200,
  responseBytes: 2_000,
  sqliteBytesPerAnimal: 60,
  tableBytesPerAnimal: 80,
  indexBytesPerAnimal: 60,
};

test('the model: creates that arrive during a commit share the next one', () => {
  const plan = planFor(100_000, FACTORS);
  const { createsPerCommit: size, commits, creates } = plan;
  assert.equal(creates, 10_000);
  assert.ok(Math.abs(size - (creates / 1000) * (2 + size * 0.01)) < 1e-9);
  assert.ok(Math.abs(size * commits - creates) < 1e-6);
  assert.ok(Math.abs(plan.processCores - (90_000 * 100 + 10_000 * 60) / 1e6) < 1e-9);
  assert.equal(planFor(10, FACTORS).createsPerCommit, 1);
  assert.ok(Math.abs(createsMax(FACTORS, 2) - 500 / 0.007) < 1e-6);
});

test('the tables of docs/capacity.md are those of the model', () => {
  const tables = capacityPart(readResults()).trim();
  assert.equal(
    generatedPart(read('docs/capacity.md')),
    tables,
    'run npm run bench -- capacity --write',
  );
});

test('docs/benchmarks.md is made from the results of the last runs', () => {
  const page = read('docs/benchmarks.md');
  assert.equal(page, benchmarksPage(readResults(), page), 'run npm run bench');
});
