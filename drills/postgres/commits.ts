import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import type { OpenTarget } from './target.ts';
import { Load } from './load.ts';

const CLIENTS = 20;
const LOAD_MS = 300;

export interface CommitsRound {
  round: number;
  acknowledged: number;
  violations: string[];
  /** Whether the crash lost the control: a commit of a session that uses the reloaded configuration. */
  isControlLost: boolean;
}

/**
 * Turns `synchronous_commit` off by a reload while sessions are open, then kills PostgreSQL. The WAL writer
 * is set to write so rarely that the crash loses every asynchronous commit.
 */
export async function drillCommits(options: {
  rounds: number;
  isDurable: boolean;
  openTarget: OpenTarget;
  onRound?: (report: CommitsRound) => void;
}): Promise<CommitsRound[]> {
  const server = await PostgresServer.start({
    isDurable: options.isDurable,
    settings: { wal_writer_delay: '10s', wal_writer_flush_after: '1GB', autovacuum: 'off' },
  });
  try {
    await server.query('CREATE TABLE control (round integer)');
    const reports: CommitsRound[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      const report = await runRound(server, round, options.openTarget);
      reports.push(report);
      options.onRound?.(report);
    }
    return reports;
  } finally {
    await server.close();
  }
}

async function runRound(
  server: PostgresServer,
  round: number,
  openTarget: OpenTarget,
): Promise<CommitsRound> {
  await setSynchronousCommit(server, 'on');
  // Each round uses a new database, because a service over HTTP creates the first key of its database.
  const target = await openTarget(server.url(await server.createDatabase()));
  const load = new Load(target);
  load.start(CLIENTS);
  await load.untilAcknowledged(5_000);
  await setSynchronousCommit(server, 'off');
  await sleep(LOAD_MS);
  await load.stop();
  await commitControl(server, round);
  await server.kill();
  await server.start();
  const { acknowledged, violations } = await load.check();
  const control = await server.query(`SELECT FROM control WHERE round = ${round}`);
  const all = [...violations, ...(await target.close())];
  return { round, acknowledged, violations: all, isControlLost: control.length === 0 };
}

/** Resolves when new sessions have the value. Open sessions use it from their next statement. */
async function setSynchronousCommit(server: PostgresServer, value: 'on' | 'off'): Promise<void> {
  await server.query(`ALTER SYSTEM SET synchronous_commit = ${value}`);
  await server.query('SELECT pg_reload_conf()');
  for (;;) {
    const [row] = await server.query('SHOW synchronous_commit');
    if (row?.[0] === value) return;
    await sleep(10);
  }
}

async function commitControl(server: PostgresServer, round: number): Promise<void> {
  const client = new Client({ connectionString: server.url() });
  // The server is killed while this connection is open. Without a listener that error would end the drill.
  client.on('error', () => undefined);
  await client.connect();
  await client.query('INSERT INTO control VALUES ($1)', [round]);
}
