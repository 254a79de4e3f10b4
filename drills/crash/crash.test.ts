// A short run of `npm run drill crash`. drills/controls.test.ts has its control.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillCrash } from './drill.ts';

const short = { seed: 1, onProgress: () => undefined };

test('after kill -9 of the process during a commit, and without the file, nothing acknowledged is lost, changed or stored twice', async () => {
  const victims = ['file', 'writer'] as const;
  const report = await drillCrash({ ...short, rounds: 2, victims });
  assert.deepEqual(report.violations, []);
  assert.ok(report.passed > 0);
  assert.ok(Number(report.figures['creates without a response, repeated']) > 0);
});
