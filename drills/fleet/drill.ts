import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillFleet } from './fleet.ts';

const PROCESSES = 4;

export const drill: Drill = {
  purpose:
    'Four processes on one PostgreSQL, 16 clients create through all of them: a reader that follows the list meanwhile sees every animal once, in order.',
  unit: 'animals',
  rounds: 100_000,
  quickRounds: 2_000,
  run: (options) => run(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    run: (options) => run(options, brokenBy('forgets-creates')),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const report = await drillFleet({
    processes: PROCESSES,
    animals: rounds,
    isDurable: true,
    nodeFlags,
    onProgress: (acknowledged, seen) =>
      onProgress(`${acknowledged} of ${rounds} acknowledged, ${seen} read`),
  });
  return {
    passed: report.seen,
    violations: report.violations,
    figures: {
      processes: PROCESSES,
      'animals acknowledged': report.acknowledged,
      'creates per second': Math.round(report.acknowledged / report.loadSeconds),
      'read during the load': report.seenDuringLoad,
      'read in the end': report.seen,
      'pages read': report.pages,
    },
  };
}
