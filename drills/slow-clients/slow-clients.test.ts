// A short run of `npm run drill slow-clients`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillSlowClients } from './drill.ts';

test('aborted uploads and clients that forge keys leave no socket open and store nothing, and legal requests succeed', async () => {
  const attacks = { abort: 100, forge: 20 };
  const report = await drillSlowClients({ attacks, measuredMs: 200 });
  assert.deepEqual(report.violations, []);
});
