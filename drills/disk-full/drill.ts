import { canMount } from '../../test/support/small-disk.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../random.ts';
import { drillDiskFull } from './disk-full.ts';

export const drill: Drill = {
  purpose:
    'The disk is full and freed again under load: no create is acknowledged that is not stored, every read gets 200, and creates work again within 5 s without a restart.',
  unit: 'cycles',
  rounds: 10,
  quickRounds: 2,
  findMissing: () => (canMount() ? undefined : 'only root can mount a small disk'),
  run: (options) => run(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    run: (options) => run(options, brokenBy('forgets-creates')),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const report = await drillDiskFull({ rounds, random: newRandom(seed), nodeFlags, onProgress });
  return {
    passed: report.recoveredMs.length,
    violations: report.violations,
    figures: {
      'creates acknowledged': report.acknowledged,
      'creates refused with 503': report.refused,
      'reads, all 200': report.reads,
      'slowest read (ms)': Math.round(report.slowestReadMs),
      'slowest recovery (ms)': Math.round(Math.max(...report.recoveredMs)),
    },
  };
}
