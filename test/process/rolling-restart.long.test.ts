// What must hold while workers are being replaced.
// test/process/workers.long.test.ts shows that no request fails, and that SIGTERM stops all of them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const WORKERS = 2;
const MAIN = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

/** The processes that the process with this id has started. */
function childrenOf(pid: number): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ');
}

/** Starts workers in a process group of their own. */
function startGroup(t: TestContext) {
  const flags = ['--port', '0', '--admin-port', 'off', '--data', temporaryFolder(t)];
  const args = [MAIN, 'serve', ...flags, '--workers', String(WORKERS)];
  const primary = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const { pid = 0 } = primary;
  t.after(() => primary.exitCode === null && process.kill(-pid, 'SIGKILL'));
  let said = '';
  primary.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const says = (line: string) =>
    until(line, () => {
      assert.equal(primary.exitCode, null, said);
      return said.includes(`"msg":"${line}"`);
    });
  return { pid, says, written: () => said, ended: once(primary, 'exit') };
}

test(
  'SIGHUP before all workers are ready does not stop the service',
  { skip: NEEDS_LINUX },
  async (t) => {
    const { pid, says, ended } = startGroup(t);
    await until('a worker must be starting', () => childrenOf(pid).length > 0);
    process.kill(pid, 'SIGHUP');
    await says('SIGHUP is ignored while workers are started or replaced');
    await says('started');
    process.kill(pid, 'SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  },
);

test(
  'SIGHUP to the process group replaces each worker once, and SIGTERM to it stops the service with exit code 0',
  { skip: NEEDS_LINUX },
  async (t) => {
    const { pid, says, written, ended } = startGroup(t);
    await says('started');
    const before = childrenOf(pid);
    process.kill(-pid, 'SIGHUP');
    await says('all workers were replaced');
    const after = childrenOf(pid);
    assert.equal(after.length, WORKERS);
    assert.ok(after.every((child) => !before.includes(child)));
    assert.doesNotMatch(written(), /a worker ended/, 'a planned end is no crash');
    process.kill(-pid, 'SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  },
);
