import type { Drill, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { backUpByCommand, backUpByCopy, drillBackup, type BackupOptions } from './backup.ts';
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
  promise:
    'A backup under load has every animal that was acknowledged before it began, and ends within twice the time of an idle one. After a restore no id is given again, and no ended key is accepted.',
  method:
    '1,000,000 animals, 1,000 creates per second; restored elsewhere and verified. Then the file is removed or damaged, or an empty store is created in its place, and the same backup is restored, twice.',
  unit: 'rounds',
  rounds: 20,
  quickRounds: 1,
  isNamedOnly: true,
  run: (options) =>
    run({ ...options, animals: ANIMALS, backUp: backUpByCommand, restore: restoreByCommand }),
  control: {
    brokenBy: 'a copy of the file without its log, and a backup that is only moved into place',
    finds: ['are not in the backup', 'was given again', 'an ended key got'],
    run: (options) =>
      run({ ...options, animals: CONTROL_ANIMALS, backUp: backUpByCopy, restore: restoreByCopy }),
  },
};

async function run(options: BackupOptions & DisasterOptions): Promise<DrillReport> {
  const { rounds } = options;
  return mergeReports({
    backups: await drillBackup(options),
    disasters: await drillDisasters({ ...options, rounds: rounds * DISASTERS_PER_ROUND }),
  });
}
