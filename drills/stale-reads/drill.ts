import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillStaleReads } from './stale-reads.ts';

export const drill: Drill = {
  purpose:
    'Two processes on one SQLite file: a read through one sees every create that the other acknowledged before.',
  unit: 'reads',
  rounds: 20_000,
  quickRounds: 2_000,
  run: (options) => run(options),
  control: {
    brokenBy: 'most creates are acknowledged before their commit',
    run: (options) => run(options, brokenBy('commits-late')),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  nodeFlags: readonly string[] = [],
): Promise<DrillReport> {
  const { creates, reads, violations } = await drillStaleReads({
    reads: rounds,
    nodeFlags,
    onProgress: (done) => onProgress(`${done} of ${rounds} reads`),
  });
  const figures = { 'creates acknowledged': creates, 'stale reads': violations.length };
  return { passed: reads - violations.length, violations, figures };
}
