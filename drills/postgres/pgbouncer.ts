import { setTimeout as sleep } from 'node:timers/promises';
import { PGBOUNCER_MISSING, startPgBouncer, type PgBouncer } from '../../harness/pgbouncer.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../../harness/random.ts';
import { runUnderLoad } from './under-load.ts';

const CALM_MS = 500;
const AWAY_MS_MAX = 1_000;
const RECOVERY_MS_MAX = 10_000;
/** The service uses up to 10 connections, and a few more while it starts. */
const SESSION_MODE = { pool_mode: 'session', default_pool_size: '20' };

export const drill: Drill = {
  promise: 'PgBouncer in session mode that dies costs no acknowledged animal.',
  method:
    'PgBouncer is killed and started again under load. That the service refuses its other modes is tested in `src/storage/postgres/pgbouncer.test.ts`.',
  unit: 'kills',
  rounds: 20,
  quickRounds: 2,
  findMissing: () => PGBOUNCER_MISSING,
  run: (options) => run(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    finds: ['is lost'],
    run: (options) => run(options, brokenBy('forgets-creates')),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const random = newRandom(seed);
  const server = await PostgresServer.start({ isDurable: true });
  let pooler: PgBouncer | undefined;
  try {
    pooler = await startPgBouncer(server, SESSION_MODE);
    const listening = { ...SESSION_MODE, listen_port: String(pooler.port) };
    return await runUnderLoad({
      database: pooler.url(),
      nodeFlags,
      async disturb(load) {
        let slowestMs = 0;
        for (let round = 1; round <= rounds; round += 1) {
          onProgress(`${round} of ${rounds} kills`);
          await sleep(CALM_MS + random.integer(CALM_MS));
          await pooler?.close();
          await sleep(random.integer(AWAY_MS_MAX));
          pooler = await startPgBouncer(server, listening);
          slowestMs = Math.max(slowestMs, await load.untilAcknowledged(RECOVERY_MS_MAX));
        }
        return { 'slowest recovery (ms)': slowestMs };
      },
    });
  } finally {
    await pooler?.close();
    await server.close();
  }
}
