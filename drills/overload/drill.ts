import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillOverload } from './overload.ts';

// The store is as slow as the drill makes it, and not as this disk is.
await import('../../test/memory-folder.ts');

const QUEUE_ALL = ['--import', fileURLToPath(new URL('./queue-all.ts', import.meta.url))];

const REPEATED_MAX = 3;

export const drill: Drill = {
  purpose:
    'A store that takes 1,000 creates per second gets 5,000, then 800 again: accepted creates and lists stay fast, the rest is refused at once with 503, and memory does not grow.',
  unit: 'seconds of overload',
  rounds: 30,
  quickRounds: 5,
  run: (options) => run(options),
  control: { brokenBy: 'queueing every create', run: (options) => run(options, QUEUE_ALL) },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  broken: readonly string[] = [],
): Promise<DrillReport> {
  const reports = [];
  for (const store of ['SQLite', 'PostgreSQL'] as const) {
    let report = await drillOverload(store, { seconds: rounds, broken, onProgress });
    for (let again = 0; report.isDisturbed && again < REPEATED_MAX; again += 1) {
      onProgress(`${store}: again, because the host of this machine was too busy`);
      report = await drillOverload(store, { seconds: rounds, broken, onProgress });
    }
    reports.push(report);
  }
  return {
    passed: reports.filter(({ violations }) => violations.length === 0).length,
    violations: reports.flatMap(({ violations }) => violations),
    figures: Object.assign({}, ...reports.map(({ figures }) => figures)) as DrillReport['figures'],
  };
}
