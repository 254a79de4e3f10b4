import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../test/postgres-server.ts';
import type { OpenDoor } from './door.ts';
import { Load, type LoadReport } from './load.ts';

const CLIENTS = 20;
const RECOVERY_MS_MAX = 5_000;
const CALM_MS = 300;
const DOWN_MS = 500;

export const FAULTS = ['stop', 'cut', 'freeze'] as const;
export type FaultName = (typeof FAULTS)[number];

export interface RoundReport {
  round: number;
  fault: FaultName;
  recoveryMs: number;
}

export interface FaultsReport extends LoadReport {
  rounds: RoundReport[];
}

/**
 * Harms PostgreSQL under load, again and again: ended as by a crash, its sessions cut, or frozen so that
 * connections stay open and nothing answers.
 */
export async function drillFaults(options: {
  rounds: number;
  freezeMs: number;
  isDurable: boolean;
  openDoor: OpenDoor;
  onRound?: (report: RoundReport) => void;
}): Promise<FaultsReport> {
  const server = await PostgresServer.start({ isDurable: options.isDurable });
  try {
    const door = await options.openDoor(server.url());
    const load = new Load(door);
    load.start(CLIENTS);
    const rounds: RoundReport[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      await sleep(CALM_MS);
      const fault = FAULTS[(round - 1) % FAULTS.length] ?? 'stop';
      await harm(server, fault, options.freezeMs);
      const recoveryMs = Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX));
      rounds.push({ round, fault, recoveryMs });
      options.onRound?.({ round, fault, recoveryMs });
    }
    await load.stop();
    const report = await load.check();
    const violations = [...report.violations, ...(await door.close())];
    return { ...report, violations, rounds };
  } finally {
    await server.close();
  }
}

/** Resolves when PostgreSQL is back. */
async function harm(server: PostgresServer, fault: FaultName, freezeMs: number): Promise<void> {
  switch (fault) {
    case 'stop':
      await server.stop('immediate');
      await sleep(DOWN_MS);
      await server.start();
      return;
    case 'cut':
      await server.endSessions();
      return;
    case 'freeze':
      server.freeze();
      await sleep(freezeMs);
      server.thaw();
  }
}
