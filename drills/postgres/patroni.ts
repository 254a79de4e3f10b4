import type { FailoverReport } from './failover.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenTarget } from './target.ts';
import { Load } from './load.ts';
import { PatroniCluster } from './patroni-cluster.ts';

const CLIENTS = 20;
const CALM_MS = 1_000;
const RECOVERY_MS_MAX = 10_000;

/**
 * Two nodes under Patroni, each commit on both. Only the leader's Patroni is killed, under load: its
 * PostgreSQL keeps running, and the other node is promoted. The same process must continue there.
 */
export async function drillPatroni(openTarget: OpenTarget): Promise<FailoverReport> {
  const cluster = await PatroniCluster.start();
  try {
    const leader = await cluster.leader();
    const standby = cluster.nodes.find((node) => node !== leader);
    if (leader === undefined || standby === undefined) throw new Error('the cluster has no leader');
    const target = await openTarget(cluster.url);
    const load = new Load(target);
    load.start(CLIENTS);
    await sleep(CALM_MS);
    leader.patroni.kill('SIGKILL');
    await cluster.untilWritable(standby);
    const recoveryMs = Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX));
    await sleep(CALM_MS);
    await load.stop();
    const report = await load.check();
    const violations = [...report.violations, ...(await target.close())];
    return { ...report, violations, recoveryMs };
  } finally {
    await cluster.close();
  }
}
