// `--workers auto` in a process that may use fewer cores than the machine has.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { availableCores } from '../../src/cli/available-cores.ts';
import { needs, needsProgram } from '../../harness/needs.ts';
import { refusalIn, run } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const CGROUP_V1 = '/sys/fs/cgroup/cpu';
const MODULE = new URL('../../src/cli/available-cores.ts', import.meta.url).href;
const SCRIPT = `import('${MODULE}').then(({ availableCores }) => console.log(availableCores()))`;
const skip = needs('two cores', availableParallelism() >= 2);

function isCgroupV1Writable(): boolean {
  try {
    accessSync(`${CGROUP_V1}/cgroup.procs`, constants.W_OK);
    return existsSync(`${CGROUP_V1}/cpu.cfs_quota_us`);
  } catch {
    return false;
  }
}

test('without a limit, auto is what Node.js reports', () => {
  assert.equal(availableCores(), availableParallelism());
});

test('auto respects the CPU affinity', { skip: skip || needsProgram('taskset') }, async (t) => {
  const command = ['taskset', '-c', '0', process.execPath, 'bin/petstore.js'] as const;
  const service = await serve(t, ['--data', temporaryFolder(t), '--workers', 'auto'], { command });
  // With several workers, the line names their number.
  assert.doesNotMatch(service.stderr(), /"workers":/);
});

test('auto starts one worker per core', { skip }, async (t) => {
  const service = await serve(t, ['--data', temporaryFolder(t), '--workers', 'auto']);
  assert.match(service.stderr(), new RegExp(`"workers":${availableCores()},`));
});

const skipCgroup = skip || needs('a writable cgroup v1', isCgroupV1Writable());
test('auto respects the quota of a cgroup v1 above its own', { skip: skipCgroup }, (t) => {
  const parent = `${CGROUP_V1}/petstore-test-${process.pid}`;
  const child = `${parent}/child`;
  mkdirSync(child, { recursive: true });
  t.after(() => [child, parent].forEach((folder) => rmdirSync(folder)));
  // 1.5 cores. The child has no quota of its own.
  writeFileSync(`${parent}/cpu.cfs_period_us`, '100000');
  writeFileSync(`${parent}/cpu.cfs_quota_us`, '150000');
  for (const folder of [parent, child]) {
    const shell = `echo $$ > ${folder}/cgroup.procs && exec "$0" -e "$1"`;
    const shown = execFileSync('sh', ['-c', shell, process.execPath, SCRIPT], { encoding: 'utf8' });
    assert.equal(shown.trim(), '1', folder);
  }
});

test('--workers with another word says what would be right, with exit code 2', async () => {
  const { code, stderr } = await run(['serve', '--workers', 'all']);
  assert.equal(code, 2);
  assert.match(
    refusalIn(stderr),
    /--workers is "all": it must be an integer from 1 to 256, or auto\.\n/,
  );
});
