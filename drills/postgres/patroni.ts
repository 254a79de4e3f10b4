import type { FailoverReport } from './failover.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenDoor } from './door.ts';
import { Load } from './load.ts';
import { PatroniCluster } from './patroni-cluster.ts';

const CLIENTS = 20;
const CALM_MS = 1_000;
const RECOVERY_MS_MAX = 10_000;

/**
 * Two nodes under Patroni, every commit on both. Only the Patroni of the leader is killed, under load: its
 * PostgreSQL lives on, and the other node is promoted. The same process must go on there.
 */
export async function drillPatroni(openDoor: OpenDoor): Promise<FailoverReport> {
  const cluster = await PatroniCluster.start();
  try {
    const leader = await cluster.leader();
    const standby = cluster.nodes.find((node) => node !== leader);
    if (leader === undefined || standby === undefined) throw new Error('nobody leads');
    const door = await openDoor(cluster.url);
    const load = new Load(door);
    load.start(CLIENTS);
    await sleep(CALM_MS);
    leader.patroni.kill('SIGKILL');
    await cluster.untilWritable(standby);
    const recoveryMs = Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX));
    await sleep(CALM_MS);
    await load.stop();
    const report = await load.check();
    const violations = [...report.violations, ...(await door.close())];
    return { ...report, violations, recoveryMs };
  } finally {
    await cluster.close();
  }
}
