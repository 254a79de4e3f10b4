import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Metrics } from './metrics.ts';

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

test('a histogram of milliseconds has bounds and a sum in seconds', () => {
  const histogram = new Histogram([500]);
  histogram.add(250);
  const { values } = histogram.figure('time_seconds', 'Times.', 1000);
  assert.deepEqual(
    values.map(({ labels, value }) => [labels['le'], value]),
    [
      ['0.5', 1],
      ['+Inf', 1],
      [undefined, 0.25],
      [undefined, 1],
    ],
  );
});

test('every error is counted by its code, and requests until they end', () => {
  const metrics = new Metrics([]);
  metrics.requestStarted();
  metrics.requestStarted();
  metrics.requestEnded('listPets', 200, 1);
  for (let count = 0; count < 3; count += 1) metrics.error('pet_not_found');
  const valuesOf = (name: string) =>
    metrics.figures().find((figure) => figure.name === name)?.values ?? [];
  const errors = valuesOf('petstore_errors_total').filter(({ value }) => value > 0);
  assert.deepEqual(errors, [{ labels: { code: 'pet_not_found' }, value: 3 }]);
  assert.deepEqual(valuesOf('petstore_requests_in_flight'), [{ labels: {}, value: 1 }]);
});
