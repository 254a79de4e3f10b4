import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillInterruptedStart } from './interrupted-start.ts';

const WORKERS = 4;

export const drill: Drill = {
  purpose:
    'SIGTERM at many moments of a start under 16 connections of creates, to the process or to its group: nothing acknowledged is lost, and no request is reset.',
  unit: 'moments',
  rounds: 20,
  quickRounds: 2,
  run: (options) => run(options),
  control: {
    brokenBy: 'one create in twenty is acknowledged and not stored',
    run: (options) => run(options, brokenBy('forgets-creates')),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const report = await drillInterruptedStart({
    workers: WORKERS,
    moments: rounds,
    nodeFlags,
    onProgress: (done) => onProgress(`${done} of ${rounds} starts`),
  });
  return {
    passed: report.acknowledged,
    violations: report.violations,
    figures: {
      'SIGTERM while only some workers served': report.whileStarting,
      'creates acknowledged': report.acknowledged,
      'acknowledged creates lost': report.lost,
      'requests reset': report.resets,
      'slowest exit (ms)': Math.round(report.slowestExitMs),
    },
  };
}
