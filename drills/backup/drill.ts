import type { Drill, DrillReport } from '../drill.ts';
import {
  backUpByCommand,
  backUpByCopy,
  drillBackup,
  median,
  type BackupOptions,
} from './backup.ts';

const ANIMALS = 1_000_000;
const CONTROL_ANIMALS = 10_000;

export const drill: Drill = {
  purpose:
    'A store of 1,000,000 animals is backed up during 1,000 creates per second and restored elsewhere: every animal acknowledged before is there, and the backup ends within twice the time of an idle one.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 1,
  isNamedOnly: true,
  run: (options) => run({ ...options, animals: ANIMALS, backUp: backUpByCommand }),
  control: {
    brokenBy: 'a copy of the file without its log',
    run: (options) => run({ ...options, animals: CONTROL_ANIMALS, backUp: backUpByCopy }),
  },
};

async function run(options: BackupOptions): Promise<DrillReport> {
  const report = await drillBackup(options);
  const [idleMs, loadedMs] = [median(report.idleMs), median(report.loadedMs)];
  return {
    passed: report.cleanRounds,
    violations: report.violations,
    figures: {
      animals: options.animals,
      'backup, idle, median (s)': (idleMs / 1_000).toFixed(1),
      'backup under load, median (s)': (loadedMs / 1_000).toFixed(1),
      'backup under load, slowest (s)': (Math.max(...report.loadedMs) / 1_000).toFixed(1),
      'times as long': (loadedMs / idleMs).toFixed(2),
      'creates per second during the backup, median': Math.round(median(report.rates)),
      'creates acknowledged': report.acknowledged,
      'slowest create (ms)': Math.round(report.slowestCreateMs),
      'of these before a backup, checked in it, over all rounds': report.acknowledgedBefore,
    },
  };
}
