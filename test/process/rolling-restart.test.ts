// What must hold while workers are being replaced.
// test/process/workers.test.ts shows that no request fails, and that SIGTERM stops all of them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { interruptStarts } from './interrupted-start.ts';
import { killWorkers } from './killed-worker.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const WORKERS = 2;
const MAIN = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

/** The processes that the process with this id has started. */
function childrenOf(pid: number): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ');
}

test(
  'SIGHUP before all workers are ready does not stop the service',
  { skip: NEEDS_LINUX },
  async (t) => {
    const flags = ['--port', '0', '--admin-port', 'off', '--data', temporaryFolder(t)];
    const args = [MAIN, 'serve', ...flags, '--workers', String(WORKERS)];
    const primary = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => primary.kill('SIGKILL'));
    const { pid = 0 } = primary;
    while (childrenOf(pid).length === 0) await sleep(5);
    primary.kill('SIGHUP');
    const ended = once(primary, 'exit');
    let said = '';
    const started = new Promise((resolve) => {
      primary.stderr.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (/"msg":"started"/.test(said)) resolve('started');
      });
    });
    assert.equal(await Promise.race([started, ended]), 'started');
    primary.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  },
);

test(
  'SIGTERM at any moment of a start under load loses no acknowledged animal and resets no request',
  { skip: NEEDS_LINUX },
  async () => {
    const report = await interruptStarts({ workers: 2, moments: 2 });
    assert.deepEqual(report.violations, []);
    assert.ok(report.acknowledged > 0);
  },
);

test(
  'a worker that is killed during a rolling restart is replaced once',
  { skip: NEEDS_LINUX },
  async () => {
    const report = await killWorkers({ workers: 2, restarts: 1 });
    assert.deepEqual(report, { workers: [2], violations: [] });
  },
);
