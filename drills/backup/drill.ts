import type { Drill, DrillReport } from '../drill.ts';
import {
  backUpByCommand,
  backUpByCopy,
  drillBackup,
  median,
  type BackupOptions,
} from './backup.ts';
import {
  drillDisasters,
  restoreByCommand,
  restoreByCopy,
  type DisasterOptions,
} from './disasters.ts';

const ANIMALS = 1_000_000;
const CONTROL_ANIMALS = 10_000;
/** Rounds of backup, disaster and restore for each round of backups under load. */
const DISASTERS_PER_ROUND = 5;

export const drill: Drill = {
  purpose:
    'A store of 1,000,000 animals is backed up during 1,000 creates per second and restored elsewhere: every animal acknowledged before is there, and the backup ends within twice the time of an idle one. Then stores are lost and restored twice from one backup: no id is given again, and no ended key is accepted.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 1,
  isNamedOnly: true,
  run: (options) =>
    run({ ...options, animals: ANIMALS, backUp: backUpByCommand, restore: restoreByCommand }),
  control: {
    brokenBy: 'a copy of the file without its log, and a backup that is only moved into place',
    run: (options) =>
      runControl({
        ...options,
        animals: CONTROL_ANIMALS,
        backUp: backUpByCopy,
        restore: restoreByCopy,
      }),
  },
};

type Variant = BackupOptions & DisasterOptions;

async function run(options: Variant): Promise<DrillReport> {
  const report = await drillBackup(options);
  const disasters = await drillDisasters({
    ...options,
    rounds: options.rounds * DISASTERS_PER_ROUND,
  });
  const [idleMs, loadedMs] = [median(report.idleMs), median(report.loadedMs)];
  return {
    passed: report.cleanRounds + disasters.cleanRounds,
    violations: [...report.violations, ...disasters.violations],
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
      'disasters, restores': `${disasters.cleanRounds} rounds, ${disasters.restores} restores`,
      'ids, given again': `${disasters.ids}, ${disasters.idsGivenAgain}`,
      'ended keys tried, accepted': `${disasters.endedKeysTried}, ${disasters.endedKeysAccepted}`,
    },
  };
}

/** Both variants must fail. */
async function runControl(options: Variant): Promise<DrillReport> {
  const report = await run(options);
  const isFound = (what: string) => report.violations.some((text) => text.includes(what));
  const areAllFound = ['are gone', 'was given again', 'an ended key got'].every(isFound);
  return { ...report, violations: areAllFound ? report.violations : [] };
}
