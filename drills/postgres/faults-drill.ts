import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { drillFaults } from './faults.ts';
import { openForgetfulTarget, openHttpTarget, openStoreTarget, type OpenTarget } from './target.ts';

const FREEZE_MS = 5_000;

export const drill: Drill = {
  purpose:
    'PostgreSQL crashes, ends all sessions and freezes under load: no animal is lost or stored twice, every call ends within 5 s, and creates succeed again within 5 s.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 2,
  run: async (options) =>
    mergeReports({
      store: await run(options, openStoreTarget),
      HTTP: await run(options, openHttpTarget),
    }),
  control: {
    brokenBy: 'a store that does not store every create it acknowledges',
    run: (options) => run({ ...options, rounds: 2 }, openForgetfulTarget),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  openTarget: OpenTarget,
): Promise<DrillReport> {
  const report = await drillFaults({
    rounds,
    freezeMs: FREEZE_MS,
    isDurable: true,
    openTarget,
    onRound: ({ round, fault }) => onProgress(`round ${round} of ${rounds}: ${fault}`),
  });
  return {
    passed: report.acknowledged,
    violations: report.violations,
    figures: {
      calls: report.calls,
      'creates acknowledged': report.acknowledged,
      'calls refused with 503': report.refused,
      'slowest call (ms)': report.slowestCallMs,
      'slowest recovery (ms)': Math.max(...report.rounds.map(({ recoveryMs }) => recoveryMs)),
    },
  };
}
