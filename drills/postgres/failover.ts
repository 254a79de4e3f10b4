import { setTimeout as sleep } from 'node:timers/promises';
import type { Load } from '../../harness/load.ts';
import { PostgresServer, TEST_PASSWORD } from '../../harness/postgres-server.ts';
import { brokenByBug } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { runUnderLoad } from './under-load.ts';

const CALM_MS = 500;
const POLL_MS = 10;
const RECOVERY_MS_MAX = 5_000;

export const drill: Drill = {
  promise: 'A failover to a synchronous standby loses nothing and needs no restart.',
  method:
    'Two PostgreSQL servers, each commit on both. The primary is stopped under load and the standby promoted; the same process continues there. Then once more with a standby that was away while somebody cancelled the wait of commits for it: those are on the primary alone, and none of them may be acknowledged.',
  unit: 'failovers',
  rounds: 5,
  quickRounds: 1,
  run: (options) => drillFailover(options),
  control: {
    brokenBy: 'the warning that a commit did not reach the standby is ignored',
    finds: ['is lost'],
    run: (options) =>
      drillFailover(options, {
        nodeFlags: brokenByBug('the warning that a commit did not reach the standby is ignored'),
      }),
  },
};

interface Servers {
  primary: PostgresServer;
  standby: PostgresServer;
}

interface Variant {
  nodeFlags?: readonly string[];
  isDurable?: boolean;
}

export async function drillFailover(
  { rounds, onProgress }: Omit<DrillOptions, 'seed'>,
  variant: Variant = {},
): Promise<DrillReport> {
  const reports: Record<string, DrillReport> = {};
  for (let round = 1; round <= rounds; round += 1) {
    onProgress(`failover ${round} of ${rounds}`);
    reports[`failover ${round}`] = await onServers(variant, async ({ primary, standby }, load) => {
      await sleep(CALM_MS);
      await primary.stop('immediate');
      await standby.query('SELECT pg_promote()');
      const recoveryMs = await load.untilAcknowledged(RECOVERY_MS_MAX);
      await sleep(CALM_MS);
      return { 'recovery (ms)': recoveryMs };
    });
    onProgress(`failover ${round} of ${rounds}, after cancelled waits`);
    reports[`cancelled waits ${round}`] = await onServers(variant, async (servers) => ({
      'waits cancelled': await cancelWaits(servers),
    }));
  }
  return mergeReports(reports);
}

async function onServers(
  { nodeFlags, isDurable = true }: Variant,
  disturb: (servers: Servers, load: Load) => Promise<DrillReport['figures']>,
): Promise<DrillReport> {
  await using stack = new AsyncDisposableStack();
  const primary = await PostgresServer.start({ isDurable });
  stack.defer(() => primary.close());
  const standby = await PostgresServer.startStandby(primary);
  stack.defer(() => standby.close());
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join(',');
  return await runUnderLoad({
    database: `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`,
    nodeFlags,
    disturb: (load) => disturb({ primary, standby }, load),
  });
}

/**
 * The process may have read the counter of the primary, and then refuses the standby (D43). So only what is stored is
 * compared, by a new process.
 */
async function cancelWaits({ primary, standby }: Servers): Promise<number> {
  await sleep(CALM_MS);
  await standby.stop('fast');
  let cancelled = 0;
  while (cancelled === 0) {
    const rows = await primary.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    );
    cancelled = rows.length;
    await sleep(POLL_MS);
  }
  // Long enough for an acknowledgement.
  await sleep(CALM_MS);
  await primary.stop('immediate');
  await standby.start();
  await standby.query('SELECT pg_promote()');
  return cancelled;
}
