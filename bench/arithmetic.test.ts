import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from './bench.ts';
import { chart } from './chart.ts';
import { parseCoreList } from './cores.ts';
import { parseResult } from './generator.ts';
import { benchmarksPage, keptPart } from './report.ts';
import { newRow, quantity } from './row.ts';
import { median, newFigure, ratioFigure } from './statistics.ts';

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing was measured/);
});

test('a ratio figure is the median of the ratios of adjacent rounds, with the lowest and the highest', () => {
  assert.deepEqual(ratioFigure([10, 30, 20], [10, 10, 10]), { median: 2, lowest: 1, highest: 3 });
  assert.throws(() => ratioFigure([1, 2], [1]), /counterpart/);
});

test('a row meets its target at or above the limit of atLeast, and at or below the limit of atMost', () => {
  const parts = { what: 'list', unit: '× bare', note: '' };
  const floor = newRow({ ...parts, bound: { atLeast: 2 }, figure: newFigure([1, 3, 2]) });
  assert.deepEqual(
    [floor.target, floor.shown, floor.isMet, floor.reached],
    ['at least 2 × bare', '2 × bare (1 – 3)', true, 1],
  );
  const ceiling = newRow({ ...parts, bound: { atMost: 1.25 }, figure: newFigure([2.5]) });
  assert.deepEqual([ceiling.isMet, ceiling.reached], [false, 0.5]);
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

test('a new benchmarks page keeps the part written by hand, and the chart has one bar per measured row', () => {
  const row: Row = newRow({
    what: 'a < b',
    bound: { atLeast: 1 },
    unit: '×',
    figure: newFigure([1]),
    note: '',
  });
  const unmeasured: Row = { ...row, shown: undefined, reached: undefined, isMet: undefined };
  const options = { rows: [row, unmeasured], machine: ['a machine'], chartFile: 'x.svg' };
  const first = benchmarksPage({ ...options, before: '' });
  const byHand = first.replace('<!-- by hand: to here -->', 'Words.\n<!-- by hand: to here -->');
  const second = benchmarksPage({ ...options, before: byHand });
  assert.equal(keptPart(second), 'Words.');
  assert.equal(benchmarksPage({ ...options, before: second }), second);
  assert.equal(chart(options.rows).match(/<rect /g)?.length, 1);
});
