import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Progress } from '../src/cli/terminal.ts';
import { createsMax, planFor, type Factors } from './capacity.ts';
import { parseCoreList } from './cores.ts';
import { parseResult } from './generator.ts';
import { MEASUREMENTS } from './measurements/all.ts';
import { processorMicroseconds, reasonToRefuse } from './processes.ts';
import { benchmarksPage, capacityPart, generatedPart } from './report.ts';
import { readResults, type Results } from './results.ts';
import { newRow, quantity, unmeasuredRow } from './row.ts';
import { ratioOf, untilDecided } from './rounds.ts';
import { median, newFigure, ROUNDS_MAX, valuesOutside } from './statistics.ts';

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing was measured/);
});

test('a ratio is the median of the ratios of adjacent samples', () => {
  assert.equal(ratioOf([10, 30, 20], [10, 10, 10]), 2);
  assert.throws(() => ratioOf([1, 2], [1]), /counterpart/);
  assert.throws(() => ratioOf([Number.NaN], [1]), /could not be read/);
});

test('the interval goes from the k-th lowest to the k-th highest value, k by the binomial distribution', () => {
  // 2 × P(B(n, 1/2) < k) is at most 2 %: tables of the sign test give these k.
  assert.deepEqual([6, 7, 9, 10, 20].map(valuesOutside), [0, 1, 1, 1, 5]);
  const figure = newFigure([5, 1, 4, 2, 3, 9, 7, 6, 8, 10, 0]);
  assert.deepEqual(figure, { median: 5, low: 1, high: 9, rounds: 11 });
  const { low, high } = newFigure([1, 2, 3, 4, 5, 6]);
  assert.deepEqual([low, high], [-Infinity, Infinity]);
});

test('a verdict of at most 20 rounds, with a look after each, is a wrong "yes" in at most 2.1 % of the runs', () => {
  // The worst case: the true median equals the goal, so each round is on either side with probability 1/2.
  let undecided = new Map([[0, 1]]);
  let wrong = 0;
  for (let rounds = 1; rounds <= ROUNDS_MAX; rounds += 1) {
    const next = new Map<number, number>();
    for (const [below, chance] of undecided) {
      for (const after of [below, below + 1]) next.set(after, (next.get(after) ?? 0) + chance / 2);
    }
    const outside = valuesOutside(rounds);
    for (const below of next.keys()) if (below < outside) wrong += next.get(below) ?? 0;
    undecided = new Map(
      [...next].filter(([below]) => below >= outside && rounds - below >= outside),
    );
  }
  assert.ok(wrong > 0.02 && wrong < 0.021, String(wrong));
});

test('a goal is met or missed only if the interval is on one side of it; otherwise it is within noise', () => {
  const parts = { what: 'list', unit: '× bare' };
  const verdicts = (values: number[]) =>
    [{ atLeast: 2 }, { atMost: 2 }].map((bound) => newRow({ ...parts, bound, values }).verdict);
  assert.deepEqual(verdicts([2, 3, 3, 3, 3, 3, 3]), ['yes', 'within noise']);
  assert.deepEqual(verdicts([2.1, 3, 3, 3, 3, 3, 3]), ['yes', 'no']);
  assert.deepEqual(verdicts([1, 1, 1, 1, 1, 1, 1.9]), ['no', 'yes']);
  assert.deepEqual(verdicts([1.9, 3, 3, 3, 3, 3, 3]), ['within noise', 'within noise']);
  assert.deepEqual(verdicts([3, 3, 3, 3, 3, 3]), ['within noise', 'within noise']);
  assert.equal(newRow({ ...parts, values: [3] }).verdict, '');
});

test('a figure is shown with its interval, or without one if there are too few rounds', () => {
  const parts = { what: 'list', unit: '× bare', bound: { atLeast: 2 } };
  const row = newRow({ ...parts, values: [1, 2, 2, 2, 2, 2, 3] });
  assert.deepEqual([row.shown, row.rounds], ['2 × bare (1 – 3)', 7]);
  assert.equal(newRow({ ...parts, values: [2.5] }).shown, '2.50 × bare');
});

/** Runs rounds whose values are those of `values` in turn, and returns how many there were. */
async function countRounds(values: number[][], deadlineMs = Infinity): Promise<number> {
  const bench = { roundsMax: ROUNDS_MAX, deadlineMs, progress: new Progress(process.stderr) };
  const bounds = [{ atLeast: 2 }, { atMost: 2 }];
  bench.progress.show = () => {};
  let round = -1;
  const measured = await untilDecided(bench, 'a test', bounds, () => {
    round += 1;
    return Promise.resolve(values.map((own) => own[round % own.length] ?? 0));
  });
  assert.deepEqual(measured[0]?.length, measured[1]?.length);
  return measured[0]?.length ?? 0;
}

test('rounds go on until every goal is decided, or a limit is reached', async () => {
  assert.equal(await countRounds([[3], [1]]), 7);
  assert.equal(await countRounds([[3], [3]]), 7, 'missed is decided too');
  assert.equal(await countRounds([[3], [3, ...Array<number>(10).fill(1)]]), 11);
  assert.equal(await countRounds([[3], [1, 3]]), ROUNDS_MAX);
  assert.equal(await countRounds([[3], [1]], 0), 1, 'after the deadline');
});

test('a run of all measurements takes at most 45 minutes', () => {
  // A measurement may begin its last round, or prepare its stores, at its limit: 15 seconds more for each.
  const minutes = MEASUREMENTS.reduce((sum, { minutesMax }) => sum + minutesMax + 0.25, 0);
  assert.ok(minutes <= 45.5, String(minutes));
});

test('results of another form are refused with what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-results-'));
  const file = pathToFileURL(join(folder, 'results.json'));
  try {
    assert.deepEqual(readResults(file), {});
    writeFileSync(file, '{"list":{"rows":[]}}');
    assert.throws(() => readResults(file), /has form 1, not 2; remove it, and run "npm run bench"/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the processor time of processes is read with that of their threads, and without those that ended', () => {
  const before = processorMicroseconds([process.pid]);
  if (Number.isNaN(before)) return;
  const untilMs = performance.now() + 30;
  while (performance.now() < untilMs) Math.sqrt(untilMs);
  const ended = spawnSync(process.execPath, ['--version']).pid;
  assert.ok(processorMicroseconds([process.pid, ended]) > before);
  assert.deepEqual(processorMicroseconds([]), Number.NaN);
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
  const parts = { unit: '× bare', bound: { atLeast: 1 }, values: [1] };
  const entry = { commit: 'abc', date: '2026-01-02', machine: ['a machine'] };
  const results: Results = {
    start: { ...entry, rows: [newRow({ ...parts, what: 'by time' })] },
    list: {
      ...entry,
      rows: [newRow({ ...parts, what: 'by cost', isByProcessorTime: true })],
      cells: [
        { contender: 'petstore', column: 'list', median: 2 },
        { contender: 'go-sqlite', column: 'list', why: 'Go is not installed' },
      ],
    },
    get: { ...entry, commit: 'def', rows: [unmeasuredRow({ ...parts, what: 'get' }, 'no Go')] },
  };
  const first = benchmarksPage(results, '');
  assert.match(first, /by cost[^]*by time/);
  assert.match(first, /Commit abc, 2026-01-02 \(start, list\):[^]*Commit def, 2026-01-02 \(get\):/);
  assert.match(first, /\| petstore \| 2 \|\n\| go-sqlite \| not measured: Go is not inst/);
  assert.match(first, /\| get \| at least 1 × bare \| not measured \|  \|  \| no Go \|/);
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
