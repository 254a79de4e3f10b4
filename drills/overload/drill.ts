import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillOverload } from './overload.ts';

const QUEUE_ALL = ['--import', fileURLToPath(new URL('./queue-all.ts', import.meta.url))];

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
    reports.push(await drillOverload(store, { seconds: rounds, broken, onProgress }));
  }
  return {
    passed: reports.filter(({ violations }) => violations.length === 0).length,
    violations: reports.flatMap(({ violations }) => violations),
    figures: Object.assign({}, ...reports.map(({ figures }) => figures)) as DrillReport['figures'],
  };
}
