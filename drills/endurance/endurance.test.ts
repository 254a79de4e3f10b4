// Short runs of `npm run drill endurance`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenBy } from '../broken/broken.ts';
import { drillEndurance } from './drill.ts';

const short = { seed: 1, onProgress: () => undefined };

test('requests of every kind get their status, and leave neither open files nor memory', async () => {
  const report = await drillEndurance({ ...short, rounds: 2_000 });
  assert.deepEqual(report.violations, []);
  assert.ok(report.passed >= 2_000);
});

test('the drill notices a service that leaks', async () => {
  const report = await drillEndurance(
    { ...short, rounds: 2_000 },
    { nodeFlags: brokenBy('leaks') },
  );
  assert.ok(report.violations.some((violation) => violation.includes('files were open')));
});
