import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { needs, needsProgram } from './needs.ts';
import { listProcesses } from './postgres-server.ts';

for (const [where, hasProc, skip] of [
  ['/proc', true, needs('/proc/self/stat', process.platform === 'linux')],
  ['ps', false, needsProgram('ps')],
] as const) {
  test(`the child processes of a server are found with ${where}`, { skip }, async (t) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1_000)']);
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const children = listProcesses(hasProc).filter(({ parent }) => parent === process.pid);
    const found = children.find(({ pid }) => pid === child.pid);
    assert.deepEqual(found, { pid: child.pid, parent: process.pid, isZombie: false });
  });
}
