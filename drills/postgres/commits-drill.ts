import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { drillCommits, type CommitsRound } from './commits.ts';
import { openHttpTarget, openStoreTarget, type OpenTarget } from './target.ts';

export const drill: Drill = {
  purpose:
    'A reload turns synchronous_commit off while sessions are open, then every process of PostgreSQL is killed: no acknowledged animal is lost.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 2,
  run: async (options) =>
    mergeReports({
      store: await run(options, openStoreTarget),
      HTTP: await run(options, openHttpTarget),
    }),
  control: {
    brokenBy: 'a session that uses the reloaded setting',
    async run(options) {
      const rounds = await runRounds(options, openStoreTarget);
      const lost = rounds.filter(({ isControlLost }) => isControlLost);
      return {
        passed: rounds.length - lost.length,
        violations: lost.map(({ round }) => `round ${round}: its commit was lost`),
        figures: {},
      };
    },
  },
};

function runRounds(
  { rounds, onProgress }: DrillOptions,
  openTarget: OpenTarget,
): Promise<CommitsRound[]> {
  return drillCommits({
    rounds,
    isDurable: true,
    openTarget,
    onRound: ({ round }) => onProgress(`round ${round} of ${rounds}`),
  });
}

async function run(options: DrillOptions, openTarget: OpenTarget): Promise<DrillReport> {
  const rounds = await runRounds(options, openTarget);
  const acknowledged = rounds.reduce((sum, round) => sum + round.acknowledged, 0);
  return {
    passed: acknowledged,
    violations: rounds.flatMap(({ violations }) => violations),
    figures: {
      'creates acknowledged': acknowledged,
      'rounds in which the control lost its commit': rounds.filter(
        ({ isControlLost }) => isControlLost,
      ).length,
    },
  };
}
