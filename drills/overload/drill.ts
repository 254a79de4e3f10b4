import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillOverload } from './overload.ts';

// The store is as slow as the drill makes it, and not as this disk is.
await import('../../test/support/memory-folder.ts');

const QUEUE_ALL = ['--import', fileURLToPath(new URL('./queue-all.ts', import.meta.url))];

const ROUNDS = 30;
/** How often a complete run is repeated while the host of this machine is too busy. */
const REPEATED_MAX = 3;

export const drill: Drill = {
  promise:
    'Admission control: under overload, accepted creates keep their latency, the others are refused at once, and lists continue.',
  method:
    'A store that takes 1 ms per create gets five times what it can take, in an open loop, on each store.',
  unit: 'seconds of overload',
  rounds: ROUNDS,
  quickRounds: 2,
  run,
  control: {
    brokenBy: 'queueing every create',
    finds: ['no create was refused'],
    // Not the times: on a busy host they show nothing.
    run: async ({ rounds, onProgress }) => {
      const options = { seconds: rounds, broken: QUEUE_ALL, onProgress };
      const { figures, violations } = await drillOverload('SQLite', options);
      return { passed: 0, figures, violations };
    },
  },
};

async function run({ rounds, onProgress }: DrillOptions): Promise<DrillReport> {
  const reports = [];
  const isComplete = rounds >= ROUNDS;
  for (const store of ['SQLite', 'PostgreSQL'] as const) {
    let report = await drillOverload(store, { seconds: rounds, onProgress });
    const repeatedMax = isComplete ? REPEATED_MAX : 0;
    for (let again = 0; report.isDisturbed && again < repeatedMax; again += 1) {
      onProgress(`${store}: again, because the host of this machine was too busy`);
      report = await drillOverload(store, { seconds: rounds, onProgress });
    }
    if (isComplete) report.violations.push(...report.slow);
    reports.push(report);
  }
  return {
    passed: reports.filter(({ violations }) => violations.length === 0).length,
    violations: reports.flatMap(({ violations }) => violations),
    figures: Object.assign({}, ...reports.map(({ figures }) => figures)) as DrillReport['figures'],
  };
}
