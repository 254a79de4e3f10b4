import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { needsProgram } from '../../harness/needs.ts';
import { REPOSITORY } from './packages.ts';

const skip = needsProgram('promtool');

// test/process/metrics.test.ts checks that each alert has its cases. To run them takes ten seconds of processor time.
test(
  'promtool confirms that each alert fires on its fault, and does not fire on a trifle',
  { skip },
  () => {
    const cases = join(REPOSITORY, 'contrib/prometheus/rules.test.yml');
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', cases], {
      encoding: 'utf8',
    });
    assert.deepEqual([status, stderr], [0, ''], stdout);
  },
);
