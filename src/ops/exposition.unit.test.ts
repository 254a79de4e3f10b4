import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expositionOf } from './exposition.ts';
import { counter, gauge, Histogram } from './metrics.ts';

test('figures are written in the text format of Prometheus, with escaped labels', () => {
  const durations = new Histogram([0.5]);
  durations.add(0.25);
  durations.add(2);
  const byLabel: [string, number][] = [
    ['a "b" \\ c\nd', 1],
    ['', 2],
  ];
  const figures = [
    gauge('waiting', 'Waiting.', 0),
    counter('errors_total', 'Errors, by code.', { label: 'code', byLabel }),
    durations.figure('duration_seconds', 'Durations.'),
    counter('calls_total', 'Calls.', { label: 'key', byLabel: [] }),
  ];
  assert.equal(
    expositionOf(figures),
    String.raw`# HELP waiting Waiting.
# TYPE waiting gauge
waiting 0
# HELP errors_total Errors, by code.
# TYPE errors_total counter
errors_total{code="a \"b\" \\ c\nd"} 1
errors_total{code=""} 2
# HELP duration_seconds Durations.
# TYPE duration_seconds histogram
duration_seconds_bucket{le="0.5"} 1
duration_seconds_bucket{le="+Inf"} 2
duration_seconds_sum 2.25
duration_seconds_count 2
# HELP calls_total Calls.
# TYPE calls_total counter
`,
  );
});
