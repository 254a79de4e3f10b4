import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { runUnderLoad } from './under-load.ts';

const RECOVERY_MS_MAX = 5_000;
const CALM_MS = 300;
const DOWN_MS = 500;
const FREEZE_MS = 5_000;

/** Each resolves when PostgreSQL accepts queries again. */
const FAULTS: Readonly<Record<string, (server: PostgresServer) => Promise<void>>> = {
  crash: async (server) => {
    await server.stop('immediate');
    await sleep(DOWN_MS);
    await server.start();
  },
  'all sessions end': async (server) => void (await server.endSessions()),
  freeze: async (server) => {
    server.freeze();
    await sleep(FREEZE_MS);
    server.thaw();
  },
};

export const drill: Drill = {
  promise:
    'PostgreSQL crashes, ends its sessions or freezes: every request ends within 5 s, nothing is lost or stored twice, and creates succeed again within 5 s.',
  method: '20 clients create and read through one process while PostgreSQL fails in each way.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 3,
  run: (options) => drillFaults(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    finds: ['is lost'],
    run: (options) => drillFaults(options, { nodeFlags: brokenBy('forgets-creates') }),
  },
};

export async function drillFaults(
  { rounds, onProgress }: Omit<DrillOptions, 'seed'>,
  { nodeFlags, isDurable = true }: { nodeFlags?: readonly string[]; isDurable?: boolean } = {},
): Promise<DrillReport> {
  const server = await PostgresServer.start({ isDurable });
  try {
    return await runUnderLoad({
      database: server.url(),
      nodeFlags,
      async disturb(load) {
        let slowestMs = 0;
        const faults = Object.entries(FAULTS);
        for (let round = 0; round < rounds; round += 1) {
          const [name = '', inject] = faults[round % faults.length] ?? [];
          onProgress(`round ${round + 1} of ${rounds}: ${name}`);
          await sleep(CALM_MS);
          await inject?.(server);
          slowestMs = Math.max(slowestMs, await load.untilAcknowledged(RECOVERY_MS_MAX));
        }
        return { 'slowest recovery (ms)': slowestMs };
      },
    });
  } finally {
    await server.close();
  }
}
