// A short run of the drill simulation. `npm run drill -- simulation` is the long one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runJobs } from './drill.ts';
import type { Step } from './story.ts';

test('under faults, restarts and clock jumps, every response agrees with a simple model', async () => {
  const { failures, seeds } = await runJobs({ firstSeed: 100, seeds: 10, steps: 200 }, 1);
  assert.deepEqual(failures, []);
  assert.equal(seeds, 10);
});

test('creates that fail together after their commit are not stored a second time', async () => {
  const create = { do: 'create', key: 0, isClaimed: false, status: 'sold', isLost: false } as const;
  const story: Step[] = [
    { do: 'fault', fault: 'throw after the commit' },
    { ...create, isOverlapped: true },
    { ...create, isOverlapped: false },
  ];
  const { failures } = await runJobs({ firstSeed: 1, seeds: 1, steps: 0, story }, 1);
  assert.deepEqual(failures, []);
});
