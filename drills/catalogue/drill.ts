import { setTimeout as sleep } from 'node:timers/promises';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { onBothStores } from '../stores.ts';
import { drillChanges, NO_SUCH_ID, type ChangesOptions } from './changes.ts';

const COMMAND_MS = 500;
const LOAD = { processes: 2, readers: 32, creators: 8 };

export const drill: Drill = {
  promise:
    'A change by `petstore catalogue` is visible to every read after it, and no id is given twice.',
  method:
    '32 readers, 8 creators and 4 walks through two processes while commands change and remove animals, on each store.',
  unit: 'commands',
  rounds: 100,
  quickRounds: 4,
  run: (options) => onBothStores(({ database }) => runChanges(options, { database })),
  control: {
    brokenBy: 'commands that report success and change nothing',
    finds: ['stale: '],
    run: (options) =>
      runChanges(options, {
        async runCommand(_args, ids) {
          // As long as a command takes: meanwhile the changes of the command before are read.
          await sleep(COMMAND_MS);
          return { code: ids.includes(NO_SUCH_ID) ? 1 : 0, said: '' };
        },
      }),
  },
};

export async function runChanges(
  { rounds, seed, onProgress }: DrillOptions,
  variant: Pick<ChangesOptions, 'database' | 'olderMain' | 'runCommand'>,
): Promise<DrillReport> {
  const report = await drillChanges({
    ...LOAD,
    ...variant,
    commands: rounds,
    seed,
    onProgress: ({ commands, checkedReads }) =>
      onProgress(`${commands} of ${rounds} commands, ${checkedReads} reads`),
  });
  return {
    passed: report.checkedReads + report.walks,
    violations: report.violations,
    figures: {
      'animals changed or removed': report.animalsChanged,
      creates: report.creates,
      'reads compared': report.checkedReads,
      'walks to the end': report.walks,
    },
  };
}
