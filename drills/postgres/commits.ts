import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { runUnderLoad } from './under-load.ts';

const LOAD_MS = 300;
const FIRST_CREATE_MS_MAX = 5_000;
const POLL_MS = 10;
/** The WAL writer writes so rarely that a crash loses every asynchronous commit. */
const SETTINGS = { wal_writer_delay: '10s', wal_writer_flush_after: '1GB', autovacuum: 'off' };

export const drill: Drill = {
  promise:
    'A commit is on the disk of PostgreSQL before it is acknowledged, whatever is configured there.',
  method:
    'A reload sets `synchronous_commit = off` while sessions are open, then all processes of PostgreSQL are killed.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 2,
  run: (options) => drillCommits(options),
  control: {
    brokenBy: 'sessions that use the setting of PostgreSQL',
    finds: ['is lost'],
    run: (options) => drillCommits(options, { nodeFlags: brokenBy('commits-asynchronously') }),
  },
};

export async function drillCommits(
  { rounds, onProgress }: Omit<DrillOptions, 'seed'>,
  { nodeFlags, isDurable = true }: { nodeFlags?: readonly string[]; isDurable?: boolean } = {},
): Promise<DrillReport> {
  const server = await PostgresServer.start({ isDurable, settings: SETTINGS });
  const reports: Record<string, DrillReport> = {};
  try {
    for (let round = 1; round <= rounds; round += 1) {
      onProgress(`round ${round} of ${rounds}`);
      await setSynchronousCommit(server, 'on');
      reports[`round ${round}`] = await runUnderLoad({
        // Each round uses a new database, because a service creates the first key of its database.
        database: server.url(await server.createDatabase()),
        nodeFlags,
        async disturb(load) {
          await load.untilAcknowledged(FIRST_CREATE_MS_MAX);
          await setSynchronousCommit(server, 'off');
          await sleep(LOAD_MS);
          await server.kill();
          await load.stop();
          await server.start();
          return {};
        },
      });
    }
    const { passed, violations } = mergeReports(reports);
    const acknowledged = Object.values(reports).reduce(
      (sum, { figures }) => sum + Number(figures['creates acknowledged']),
      0,
    );
    return { passed, violations, figures: { 'creates acknowledged': acknowledged } };
  } finally {
    await server.close();
  }
}

/** Resolves when new sessions have the value. Open sessions use it from their next statement. */
async function setSynchronousCommit(server: PostgresServer, value: 'on' | 'off'): Promise<void> {
  await server.query(`ALTER SYSTEM SET synchronous_commit = ${value}`);
  await server.query('SELECT pg_reload_conf()');
  for (;;) {
    const [row] = await server.query('SHOW synchronous_commit');
    if (row?.[0] === value) return;
    await sleep(POLL_MS);
  }
}
