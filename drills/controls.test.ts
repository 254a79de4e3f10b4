// The controls of the drills whose short runs are in `npm test`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenBy } from './broken/broken.ts';
import { drillCrash } from './crash/drill.ts';
import { drill as linearizability } from './linearizability/drill.ts';

const onProgress = () => undefined;

test('the drill notices creates that are acknowledged directly before their commit', async () => {
  const nodeFlags = brokenBy('acknowledges-early');
  const options = { seed: 1, onProgress, rounds: 2, victims: ['slow commit'] as const };
  const report = await drillCrash({ ...options, nodeFlags });
  assert.ok(report.violations.some((violation) => violation.endsWith('is lost')));
});

test('the drill finds a cache that does not check the version of the store, and commands that change nothing', async () => {
  const { control } = linearizability;
  const { violations } = await control.run({ rounds: 6, seed: 3, onProgress });
  for (const text of control.finds) {
    assert.ok(
      violations.some((violation) => violation.includes(text)),
      text,
    );
  }
});
