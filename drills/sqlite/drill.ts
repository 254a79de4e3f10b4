import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { drillReplacedFile } from './replaced-file.ts';

export const drill: Drill = {
  purpose:
    'Deletes, replaces and moves the file of the embedded store under load: the service acknowledges nothing that its next start does not find, ends with exit code 1, and serves the file that is there when it is started again.',
  unit: 'rounds',
  rounds: 24,
  quickRounds: 4,
  run: async (options) =>
    mergeReports({
      'one process': await run(options, { workers: 1 }),
      'two workers': await run(options, { workers: 2 }),
    }),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    run: (options) => run(options, { workers: 1, nodeFlags: brokenBy('forgets-creates') }),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  variant: { workers: number; nodeFlags?: readonly string[] },
): Promise<DrillReport> {
  const report = await drillReplacedFile({
    ...variant,
    rounds,
    onProgress: (round, fault) => onProgress(`round ${round + 1} of ${rounds}: ${fault}`),
  });
  return {
    passed: report.rounds,
    violations: report.violations,
    figures: {
      'creates acknowledged': report.acknowledged,
      'of these after the restart': report.afterRestart,
      'creates refused with 503': report.refused,
      'slowest refusal (ms)': Math.round(report.slowestRefusalMs),
      'slowest end after the fault (ms)': Math.round(report.slowestEndMs),
    },
  };
}
