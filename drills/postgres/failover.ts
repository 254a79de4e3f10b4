import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer, TEST_PASSWORD } from '../../test/support/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { runUnderLoad } from './under-load.ts';

const CALM_MS = 500;
const RECOVERY_MS_MAX = 5_000;

export const drill: Drill = {
  promise: 'A failover to a synchronous standby loses nothing and needs no restart.',
  method:
    'Two PostgreSQL servers, each commit on both. The primary is stopped under load and the standby promoted; the same process continues there.',
  unit: 'failovers',
  rounds: 5,
  quickRounds: 1,
  run: (options) => run(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    finds: ['is lost'],
    run: (options) => run(options, brokenBy('forgets-creates')),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const reports: Record<string, DrillReport> = {};
  for (let round = 1; round <= rounds; round += 1) {
    onProgress(`failover ${round} of ${rounds}`);
    reports[`failover ${round}`] = await drillFailover({ nodeFlags });
  }
  return mergeReports(reports);
}

export async function drillFailover({
  nodeFlags,
  isDurable = true,
}: {
  nodeFlags?: readonly string[] | undefined;
  isDurable?: boolean;
}): Promise<DrillReport> {
  const primary = await PostgresServer.start({ isDurable });
  const servers = [primary];
  try {
    const standby = await PostgresServer.startStandby(primary);
    servers.push(standby);
    const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return await runUnderLoad({
      database: `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`,
      nodeFlags,
      async disturb(load) {
        await sleep(CALM_MS);
        await primary.stop('immediate');
        await standby.query('SELECT pg_promote()');
        const recoveryMs = await load.untilAcknowledged(RECOVERY_MS_MAX);
        await sleep(CALM_MS);
        return { 'recovery (ms)': recoveryMs };
      },
    });
  } finally {
    for (const server of servers) await server.close();
  }
}
