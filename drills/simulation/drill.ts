import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { runJobs } from './jobs.ts';

// Files in memory: a disk would only make the drill slower.
await import('../../test/support/memory-folder.ts');

const STEPS = 200;
const PROCESSES = 2;
const DEFECTS = ['late claims', 'ignored version'] as const;

export const drill: Drill = {
  promise: 'Every response agrees with a simple model, whatever fails.',
  method:
    'The app, the batcher and SQLite in one thread with virtual time: faults before and after a commit, a full or failing disk, lost responses, clock jumps, restarts, revoked keys, changed animals. A failing story is shortened.',
  unit: 'seeds',
  rounds: 10_000,
  quickRounds: 40,
  run: (options) => run(options),
  control: {
    brokenBy: 'claims that are stored after their animals, and a cache that ignores the version',
    finds: ['late claims: ', 'ignored version: '],
    run: runControl,
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  defect?: (typeof DEFECTS)[number],
): Promise<DrillReport> {
  const { seeds, steps, failures } = await runJobs(
    { firstSeed: seed, seeds: rounds, steps: STEPS, defect },
    PROCESSES,
    (done) => onProgress(`${done} of ${rounds} seeds`),
  );
  return {
    passed: seeds - failures.length,
    violations: failures.map((lines) => lines.join('\n  ')),
    figures: { 'steps performed': steps },
  };
}

async function runControl(options: DrillOptions): Promise<DrillReport> {
  const reports: Record<string, DrillReport> = {};
  for (const defect of DEFECTS) reports[defect] = await run(options, defect);
  return mergeReports(reports);
}
