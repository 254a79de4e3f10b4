// Short runs of `npm run drill crash`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenBy } from '../broken/broken.ts';
import { drillCrash } from './drill.ts';

const short = { seed: 1, onProgress: () => undefined };

test('after kill -9 of the process during a commit, and of the primary, and without the file, nothing acknowledged is lost, changed or stored twice', async () => {
  const victims = ['primary', 'writer', 'file'] as const;
  const report = await drillCrash({ ...short, rounds: 3, victims });
  assert.deepEqual(report.violations, []);
  assert.ok(report.passed > 0);
  assert.ok(Number(report.figures['creates without a response, repeated']) > 0);
});

test('the drill notices creates that are acknowledged directly before their commit', async () => {
  const nodeFlags = brokenBy('acknowledges-early');
  const report = await drillCrash({ ...short, rounds: 2, victims: ['slow commit'], nodeFlags });
  assert.ok(report.violations.some((violation) => violation.endsWith('is lost')));
});
