import { isInHistory } from '../catalogue/older-version.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../random.ts';
import { drain, drillUpgrade, kill, VERSIONS, type UpgradeOptions } from './upgrade.ts';

export const drill: Drill = {
  purpose:
    'Two processes of version 1.0.0, and then two of 1.1.0, on PostgreSQL are replaced by this version, one after the other, under load: no request fails, and nothing that was acknowledged is lost.',
  unit: 'rounds',
  rounds: 5,
  quickRounds: 1,
  findMissing: () =>
    VERSIONS.every(isInHistory)
      ? undefined
      : `versions ${VERSIONS.join(' and ')} are not in the history of this clone`,
  run: (options) => run(options, drain),
  control: {
    brokenBy: 'a process that is killed while the balancer uses it',
    run: (options) => run(options, kill),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  end: UpgradeOptions['end'],
): Promise<DrillReport> {
  const report = await drillUpgrade({ rounds, random: newRandom(seed), end, onProgress });
  return {
    passed: report.rounds,
    violations: report.violations,
    figures: {
      requests: report.requests,
      'creates acknowledged': report.creates,
      'older creates repeated on this version': report.repeated,
      'failed requests and other violations': report.violations.length,
      'slowest request (ms)': Math.round(report.slowestMs),
    },
  };
}
