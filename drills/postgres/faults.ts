import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import type { OpenTarget } from './target.ts';
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
 * Injects faults into PostgreSQL under load: it crashes, it ends all sessions, or it freezes, so that
 * connections stay open without responses.
 */
export async function drillFaults(options: {
  rounds: number;
  freezeMs: number;
  isDurable: boolean;
  openTarget: OpenTarget;
  onRound?: (report: RoundReport) => void;
}): Promise<FaultsReport> {
  const server = await PostgresServer.start({ isDurable: options.isDurable });
  try {
    const target = await options.openTarget(server.url());
    const load = new Load(target);
    load.start(CLIENTS);
    const rounds: RoundReport[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      await sleep(CALM_MS);
      const fault = FAULTS[(round - 1) % FAULTS.length] ?? 'stop';
      await injectFault(server, fault, options.freezeMs);
      const recoveryMs = Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX));
      rounds.push({ round, fault, recoveryMs });
      options.onRound?.({ round, fault, recoveryMs });
    }
    await load.stop();
    const report = await load.check();
    const violations = [...report.violations, ...(await target.close())];
    return { ...report, violations, rounds };
  } finally {
    await server.close();
  }
}

/** Resolves when PostgreSQL accepts queries again. */
async function injectFault(
  server: PostgresServer,
  fault: FaultName,
  freezeMs: number,
): Promise<void> {
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
