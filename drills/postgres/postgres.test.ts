// Short runs of drills/postgres. `npm run drill postgres-commits` and the other names with postgres run the long ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillCommits } from './commits.ts';
import { drillFailover } from './failover.ts';
import { drillFaults } from './faults.ts';

const onProgress = () => undefined;
const isDurable = false;

test('no acknowledged animal is lost when a reload sets synchronous_commit = off and PostgreSQL is killed', async () => {
  const report = await drillCommits({ rounds: 1, onProgress }, { isDurable });
  assert.deepEqual(report.violations, []);
  assert.ok(Number(report.figures['creates acknowledged']) > 0);
});

test('PostgreSQL crashes, ends sessions, freezes and its responses are lost: no animal is lost or stored twice, and every request ends within 5 s', async () => {
  const report = await drillFaults({ rounds: 4, onProgress }, { isDurable });
  assert.deepEqual(report.violations, []);
  assert.ok(Number(report.figures['creates acknowledged']) > 0);
  assert.ok(Number(report.figures['requests refused with 503']) > 0);
});

test('after the primary is killed and the standby promoted, the service continues with every acknowledged animal', async () => {
  const report = await drillFailover({ rounds: 1, onProgress }, { isDurable });
  assert.deepEqual(report.violations, []);
  assert.ok(report.passed > 0);
});
