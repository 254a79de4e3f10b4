// What must hold while workers are being replaced. That no request fails is in workers.test.ts, and at
// length in drills/rolling.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve, temporaryFolder } from './test-process.ts';

const WORKERS = 2;
const ENDED_MS_MAX = 30_000;

test('SIGTERM in the middle of a rolling restart ends every worker, also the one that is starting', async (t) => {
  const service = await serve(t, ['--data', temporaryFolder(t), '--workers', String(WORKERS)]);
  const children = () =>
    readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8').trim().split(' ');
  service.kill('SIGHUP');
  while (children().length <= WORKERS) await sleep(5);
  service.kill('SIGTERM');
  const hangs = sleep(ENDED_MS_MAX, 'it still runs', { ref: false });
  assert.equal(await Promise.race([service.ended, hangs]), 0);
});
