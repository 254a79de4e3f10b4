import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillKilledWorker } from './killed-worker.ts';

const WORKERS = 4;

export const drill: Drill = {
  purpose:
    'Kills one of four workers in each rolling restart: four new workers run afterwards, neither more nor fewer.',
  unit: 'restarts',
  rounds: 10,
  quickRounds: 1,
  run: (options) => run(options),
  control: {
    brokenBy: 'each worker that ends is replaced twice',
    run: (options) => run(options, brokenBy('starts-too-many')),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  nodeFlags: readonly string[] = [],
): Promise<DrillReport> {
  const { workers, violations } = await drillKilledWorker({
    workers: WORKERS,
    restarts: rounds,
    nodeFlags,
    onProgress: (done) => onProgress(`${done} of ${rounds} rolling restarts`),
  });
  return {
    passed: workers.length,
    violations,
    figures: { 'workers after each restart': workers.join(' ') },
  };
}
