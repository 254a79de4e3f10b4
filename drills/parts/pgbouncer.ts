import { setTimeout as sleep } from 'node:timers/promises';
import { PGBOUNCER_MISSING, startPgBouncer, type PgBouncer } from '../../test/support/pgbouncer.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../random.ts';
import { Load } from '../postgres/load.ts';
import { openForgetfulTarget, openHttpTarget, type OpenTarget } from '../postgres/target.ts';

const CLIENTS = 20;
const CALM_MS = 500;
const AWAY_MS_MAX = 1_000;
const RECOVERY_MS_MAX = 10_000;
/** The service uses up to 10 connections, and a few more while it starts. */
const SESSION_MODE = { pool_mode: 'session', default_pool_size: '20' };
const REFUSED_MODES = ['transaction', 'statement'];

export const drill: Drill = {
  purpose:
    'PgBouncer in session mode is killed and started again under load, and no animal is lost or stored twice; in its other modes the service refuses to start.',
  unit: 'kills',
  rounds: 20,
  quickRounds: 2,
  findMissing: () => (PGBOUNCER_MISSING === false ? undefined : PGBOUNCER_MISSING),
  run: (options) => run(options, openHttpTarget),
  control: {
    brokenBy: 'a store that does not store every create it acknowledges',
    run: (options) => run(options, openForgetfulTarget),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  openTarget: OpenTarget,
): Promise<DrillReport> {
  const random = newRandom(seed);
  const server = await PostgresServer.start({ isDurable: true });
  let pooler: PgBouncer | undefined;
  try {
    pooler = await startPgBouncer(server, SESSION_MODE);
    const { port } = pooler;
    const target = await openTarget(pooler.url());
    const load = new Load(target);
    load.start(CLIENTS);
    const recoveries: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      onProgress(`${round} of ${rounds} kills`);
      await sleep(CALM_MS + random.integer(CALM_MS));
      await pooler.close();
      await sleep(random.integer(AWAY_MS_MAX));
      pooler = await startPgBouncer(server, { ...SESSION_MODE, listen_port: String(port) });
      recoveries.push(Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX)));
    }
    await load.stop();
    const { acknowledged, refused, slowestCallMs, violations } = await load.check();
    const refusals = await refusedModes(server);
    return {
      passed: acknowledged + refusals.passed,
      violations: [...violations, ...(await target.close()), ...refusals.violations],
      figures: {
        acknowledged,
        'refused with 503': refused,
        'slowest call (ms)': slowestCallMs,
        'from the start of PgBouncer to the first create (ms, at most)': Math.max(...recoveries),
        ...refusals.figures,
      },
    };
  } finally {
    await pooler?.close();
    await server.close();
  }
}

async function refusedModes(server: PostgresServer): Promise<DrillReport> {
  const violations: string[] = [];
  const figures: Record<string, string> = {};
  for (const mode of REFUSED_MODES) {
    const pooler = await startPgBouncer(server, { pool_mode: mode });
    const message = await openHttpTarget(pooler.url()).then(
      async (target) => {
        await target.close();
        return 'the service started';
      },
      (error: unknown) => String(error),
    );
    await pooler.close();
    const isRefused = /pool_mode = session/.test(message);
    figures[`pool_mode = ${mode}`] = isRefused ? 'the service refused to start' : message;
    if (!isRefused) violations.push(`pool_mode = ${mode}: ${message}`);
  }
  return { passed: REFUSED_MODES.length - violations.length, violations, figures };
}
