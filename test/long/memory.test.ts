// What the service may cost while strangers send what costs most. `npm run drill slow-clients` mixes all of it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgeMemory } from './memory.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';

const cases = [
  ['chunks with a key', 20],
  ['chunks with an invented key', 200],
] as const;

describe('Memory', { concurrency: true, skip: NEEDS_LINUX }, () => {
  for (const [attack, connections] of cases) {
    test(`${connections} connections that send a body in chunks of one byte (${attack}) cost at most 100 MiB, and others are served`, async (t) => {
      const report = await judgeMemory({ attack, connections });
      t.diagnostic(JSON.stringify(report));
      assert.deepEqual(report.violations, []);
      assert.ok(report.probes > 0);
    });
  }
});
