// A short run of drills/sqlite. `npm run drill replaced-file` is the long one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillReplacedFile } from '../drills/sqlite/replaced-file.ts';

test('when the file is replaced or deleted under load, every later acknowledged animal is in the final file, without a restart', async () => {
  const report = await drillReplacedFile({ rounds: 3, workers: 1 });
  assert.deepEqual(report.violations, []);
  assert.equal(report.rounds, 3);
  assert.ok(report.sentAfterLoss > 0 && report.refused > 0);
});
