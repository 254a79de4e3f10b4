import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer, TEST_PASSWORD } from '../../harness/postgres-server.ts';
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
  run: (options) => drillFailover(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    finds: ['is lost'],
    run: (options) => drillFailover(options, { nodeFlags: brokenBy('forgets-creates') }),
  },
};

export async function drillFailover(
  { rounds, onProgress }: Omit<DrillOptions, 'seed'>,
  variant: { nodeFlags?: readonly string[]; isDurable?: boolean } = {},
): Promise<DrillReport> {
  const reports: Record<string, DrillReport> = {};
  for (let round = 1; round <= rounds; round += 1) {
    onProgress(`failover ${round} of ${rounds}`);
    await using stack = new AsyncDisposableStack();
    const primary = await PostgresServer.start({ isDurable: variant.isDurable ?? true });
    stack.defer(() => primary.close());
    const standby = await PostgresServer.startStandby(primary);
    stack.defer(() => standby.close());
    const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join(',');
    reports[`failover ${round}`] = await runUnderLoad({
      database: `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`,
      nodeFlags: variant.nodeFlags,
      async disturb(load) {
        await sleep(CALM_MS);
        await primary.stop('immediate');
        await standby.query('SELECT pg_promote()');
        const recoveryMs = await load.untilAcknowledged(RECOVERY_MS_MAX);
        await sleep(CALM_MS);
        return { 'recovery (ms)': recoveryMs };
      },
    });
  }
  return mergeReports(reports);
}
