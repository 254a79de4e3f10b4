import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { onBothStores } from '../stores.ts';
import { drillRolling, type RollingOptions } from './rolling.ts';

const WORKERS = 4;
const ROUNDS = 50_000;
const RESTARTS_MIN = 2;

export const drill: Drill = {
  purpose:
    'Rolling restarts one after another under 32 connections of lists and creates: no request fails, and no connection is reset.',
  unit: 'requests',
  rounds: ROUNDS,
  quickRounds: 3_000,
  run: (options) => onBothStores(({ database }) => run(options, { database })),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    run: (options) => run(options, { nodeFlags: brokenBy('forgets-creates') }),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  variant: Pick<RollingOptions, 'database' | 'nodeFlags'>,
): Promise<DrillReport> {
  const report = await drillRolling({
    ...variant,
    workers: WORKERS,
    requests: rounds,
    restarts: rounds < ROUNDS ? 1 : RESTARTS_MIN,
    onProgress: (succeeded, restarts) =>
      onProgress(`${succeeded} requests succeeded, ${restarts} rolling restarts`),
  });
  return {
    passed: report.lists + report.creates,
    violations: report.violations,
    figures: {
      'lists that returned 200': report.lists,
      'creates that returned 201': report.creates,
      'requests that failed': [...report.failures.values()].reduce((sum, count) => sum + count, 0),
      'SIGHUP sent': report.hangups,
      'complete rolling restarts': report.restarts,
      'slowest request (ms)': Math.round(report.slowestMs),
      'animals stored': report.stored,
    },
  };
}
