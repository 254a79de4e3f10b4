// A short run of drills/sqlite. `npm run drill replaced-file` is the long one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillReplacedFile } from '../../drills/sqlite/replaced-file.ts';

test('when the file is replaced or deleted under load, nothing is acknowledged that the next start does not find', async () => {
  const report = await drillReplacedFile({ rounds: 3, workers: 1 });
  assert.deepEqual(report.violations, []);
  assert.equal(report.rounds, 3);
  assert.ok(report.afterRestart > 0 && report.refused > 0);
});
