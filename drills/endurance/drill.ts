import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { onBothStores } from '../stores.ts';
import { drillEndurance, type EnduranceOptions } from './endurance.ts';

export const drill: Drill = {
  promise: 'The service needs no restart: memory, open files and the log of SQLite do not grow.',
  method:
    'Requests of every kind, valid and invalid, on each store. The memory at the end is within 10 % of that after the first tenth.',
  unit: 'requests',
  rounds: 5_000_000,
  quickRounds: 60_000,
  isNamedOnly: true,
  run: (options) => onBothStores(({ database }) => run(options, { database })),
  control: {
    brokenBy: 'each request leaves 4 KiB behind, and some an open file',
    finds: ['the memory grew', 'files were open'],
    run: (options) => run(options, { nodeFlags: brokenBy('leaks') }),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  variant: Pick<EnduranceOptions, 'database' | 'nodeFlags'>,
): Promise<DrillReport> {
  const report = await drillEndurance({
    ...variant,
    requests: rounds,
    seed,
    onProgress: (requests) => onProgress(`${requests} of ${rounds} requests`),
  });
  return {
    passed: report.requests,
    violations: report.violations,
    figures: {
      'animals created': report.created,
      'memory after a tenth and at the end (MiB)': report.memoryMib.join(', '),
      'open files after a tenth and at the end': report.files.join(', '),
      'largest log (MiB)': report.logMibMax,
    },
  };
}
