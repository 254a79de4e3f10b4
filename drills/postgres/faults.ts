import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { brokenByBug } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { LossyLink } from './lossy-link.ts';
import { runUnderLoad } from './under-load.ts';

const RECOVERY_MS_MAX = 5_000;
const CALM_MS = 300;
const DOWN_MS = 500;
const FREEZE_MS = 5_000;
/** Often enough to meet creates without a claim, of which a few are under way at any moment. */
const LOSSES = 20;
const LOSS_INTERVAL_MS = 50;

/** Each resolves when PostgreSQL accepts queries again. */
const FAULTS: Readonly<Record<string, (server: PostgresServer, link: LossyLink) => Promise<void>>> =
  {
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
    'responses are lost': async (_server, link) => {
      for (let loss = 0; loss < LOSSES; loss += 1) {
        link.loseResponses();
        await sleep(LOSS_INTERVAL_MS);
      }
    },
  };

export const drill: Drill = {
  promise:
    'PostgreSQL crashes, ends its sessions or freezes, or its responses are lost: every request ends within 5 s, nothing is lost or stored twice, and creates succeed again within 5 s.',
  method: '20 clients create and read through one process while PostgreSQL fails in each way.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 4,
  run: (options) => drillFaults(options),
  control: {
    brokenBy: 'a create is sent again although its outcome is unknown',
    finds: ['is stored twice'],
    run: (options) =>
      drillFaults(options, {
        nodeFlags: brokenByBug('a create is sent again although its outcome is unknown'),
      }),
  },
};

export async function drillFaults(
  { rounds, onProgress }: Omit<DrillOptions, 'seed'>,
  { nodeFlags, isDurable = true }: { nodeFlags?: readonly string[]; isDurable?: boolean } = {},
): Promise<DrillReport> {
  const server = await PostgresServer.start({ isDurable });
  try {
    await using link = await LossyLink.open(server.port);
    return await runUnderLoad({
      database: server.url().replace(`:${server.port}/`, `:${link.port}/`),
      nodeFlags,
      async disturb(load) {
        let slowestMs = 0;
        const faults = Object.entries(FAULTS);
        for (let round = 0; round < rounds; round += 1) {
          const [name = '', inject] = faults[round % faults.length] ?? [];
          onProgress(`round ${round + 1} of ${rounds}: ${name}`);
          await sleep(CALM_MS);
          await inject?.(server, link);
          slowestMs = Math.max(slowestMs, await load.untilAcknowledged(RECOVERY_MS_MAX));
        }
        return { 'slowest recovery (ms)': slowestMs };
      },
    });
  } finally {
    await server.close();
  }
}
