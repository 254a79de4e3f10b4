// The drills of drills/postgres, short: the long ones are a command.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillCommits } from '../drills/postgres/commits.ts';
import { openStoreDoor } from '../drills/postgres/door.ts';
import { drillFailover } from '../drills/postgres/failover.ts';
import { drillFaults } from '../drills/postgres/faults.ts';
import { drillMarkers, openMixedUp } from '../drills/postgres/markers.ts';
import { PostgresServer } from './postgres-server.ts';

test('synchronous_commit is turned off by a reload, and PostgreSQL is killed: nothing acknowledged is lost', async () => {
  const reports = await drillCommits({ rounds: 2, isDurable: false, openDoor: openStoreDoor });
  for (const { acknowledged, violations } of reports) {
    assert.deepEqual(violations, []);
    assert.ok(acknowledged > 0);
  }
  assert.ok(
    reports.some(({ isControlLost }) => isControlLost),
    'a session that follows the configuration loses its commit',
  );
});

test('PostgreSQL crashes, cuts and freezes: nothing acknowledged is lost, nothing is stored twice, every call is settled in 5 s', async () => {
  const report = await drillFaults({
    rounds: 3,
    freezeMs: 5_000,
    isDurable: false,
    openDoor: openStoreDoor,
  });
  assert.deepEqual(report.violations, []);
  assert.ok(report.acknowledged > 0);
  assert.ok(report.refused > 0, 'the faults were noticed');
});

test('the primary dies and the standby takes over: the process goes on there with all that was acknowledged', async () => {
  const report = await drillFailover({ isDurable: false, openDoor: openStoreDoor });
  assert.deepEqual(report.violations, []);
  assert.ok(report.acknowledged > 0);
});

test('no answer reaches the wrong caller of an oversubscribed pool, and a pool that mixes them up is found out', async () => {
  const server = await PostgresServer.start();
  try {
    const real = await drillMarkers({ url: server.url(), queries: 10_000 });
    assert.equal(real.wrong, 0);
    assert.ok(real.givenUp > 0, 'some callers gave up before their answer came');
    const broken = await drillMarkers({ url: server.url(), queries: 10_000, open: openMixedUp });
    assert.ok(broken.wrong > 0);
  } finally {
    await server.close();
  }
});
