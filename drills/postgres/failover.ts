import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer, TEST_PASSWORD } from '../../test/support/postgres-server.ts';
import type { OpenTarget } from './target.ts';
import { Load, type LoadReport } from './load.ts';

const CLIENTS = 20;
const CALM_MS = 500;
const RECOVERY_MS_MAX = 5_000;

export interface FailoverReport extends LoadReport {
  /** From the promotion of the standby to the first create it acknowledged. */
  recoveryMs: number;
}

/**
 * Two nodes, each commit on both. The primary is stopped under load and the standby is promoted. The same
 * process must continue on the standby, with every acknowledged animal.
 */
export async function drillFailover(options: {
  isDurable: boolean;
  openTarget: OpenTarget;
}): Promise<FailoverReport> {
  const primary = await PostgresServer.start({ isDurable: options.isDurable });
  const servers = [primary];
  try {
    const standby = await PostgresServer.startStandby(primary);
    servers.push(standby);
    const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const target = await options.openTarget(
      `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`,
    );
    const load = new Load(target);
    load.start(CLIENTS);
    await sleep(CALM_MS);
    await primary.stop('immediate');
    await standby.query('SELECT pg_promote()');
    const recoveryMs = Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX));
    await sleep(CALM_MS);
    await load.stop();
    const report = await load.check();
    const violations = [...report.violations, ...(await target.close())];
    return { ...report, violations, recoveryMs };
  } finally {
    for (const server of servers) await server.close();
  }
}
