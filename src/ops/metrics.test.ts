import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from './metrics.ts';

test('a value that equals a bound is counted in the bucket of that bound', () => {
  const histogram = new Histogram([1, 5]);
  for (const value of [1, 1.5, 5, 6]) histogram.add(value);
  const { values } = histogram.figure('size', 'Sizes.');
  assert.deepEqual(
    values.map(({ metricName, labels, value }) => [metricName, labels['le'], value]),
    [
      ['size_bucket', '1', 1],
      ['size_bucket', '5', 3],
      ['size_bucket', '+Inf', 4],
      ['size_sum', undefined, 13.5],
      ['size_count', undefined, 4],
    ],
  );
});
