// Short runs of drills/postgres. `npm run drill postgres-commits` and the other names with postgres run the long ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillCommits } from '../../drills/postgres/commits.ts';
import { openStoreTarget } from '../../drills/postgres/target.ts';
import { drillFailover } from '../../drills/postgres/failover.ts';
import { drillFaults } from '../../drills/postgres/faults.ts';
import { drillMarkers, openMixedUp } from '../../drills/postgres/markers.ts';
import { PostgresServer } from '../support/postgres-server.ts';

test('no acknowledged animal is lost when a reload sets synchronous_commit = off and PostgreSQL is killed', async () => {
  const reports = await drillCommits({ rounds: 2, isDurable: false, openTarget: openStoreTarget });
  for (const { acknowledged, violations } of reports) {
    assert.deepEqual(violations, []);
    assert.ok(acknowledged > 0);
  }
  assert.ok(
    reports.some(({ isControlLost }) => isControlLost),
    'the control must lose its commit, or the drill would not detect a loss',
  );
});

test('PostgreSQL crashes, ends sessions and freezes: no animal is lost or stored twice, and every call ends within 5 s', async () => {
  const report = await drillFaults({
    rounds: 3,
    freezeMs: 5_000,
    isDurable: false,
    openTarget: openStoreTarget,
  });
  assert.deepEqual(report.violations, []);
  assert.ok(report.acknowledged > 0);
  assert.ok(report.refused > 0, 'some calls must be refused during the faults');
});

test('after the primary is killed and the standby promoted, the service continues with every acknowledged animal', async () => {
  const report = await drillFailover({ isDurable: false, openTarget: openStoreTarget });
  assert.deepEqual(report.violations, []);
  assert.ok(report.acknowledged > 0);
});

test('no response of an overloaded pool reaches the wrong caller, and the drill detects a pool that mixes them up', async () => {
  const server = await PostgresServer.start();
  try {
    const real = await drillMarkers({ url: server.url(), queries: 10_000 });
    assert.equal(real.wrong, 0);
    assert.ok(real.givenUp > 0, 'some callers must give up before their response arrives');
    const broken = await drillMarkers({ url: server.url(), queries: 10_000, open: openMixedUp });
    assert.ok(broken.wrong > 0);
  } finally {
    await server.close();
  }
});
