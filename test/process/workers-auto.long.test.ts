// `--workers auto`, also in a process that may use fewer cores than the machine has.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { needsProgram } from '../../harness/needs.ts';
import { refusalIn, run } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const skip = availableParallelism() < 2 && 'needs two cores';

test('auto respects the CPU affinity', { skip: skip || needsProgram('taskset') }, async (t) => {
  const command = ['taskset', '-c', '0', process.execPath, 'bin/petstore.js'] as const;
  const service = await serve(t, ['--data', temporaryFolder(t), '--workers', 'auto'], { command });
  // With several workers, the line names their number.
  assert.doesNotMatch(service.stderr(), /"workers":/);
});

test('auto starts one worker per core', { skip }, async (t) => {
  const service = await serve(t, ['--data', temporaryFolder(t), '--workers', 'auto']);
  assert.match(service.stderr(), new RegExp(`"workers":${availableParallelism()},`));
});

test('--workers with another word says what would be right, with exit code 2', async () => {
  const { code, stderr } = await run(['serve', '--workers', 'all']);
  assert.equal(code, 2);
  assert.match(
    refusalIn(stderr),
    /--workers is "all": it must be an integer from 1 to 256, or auto\.\n/,
  );
});
