import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { runJobs } from './jobs.ts';

// Files in memory: a disk would only make the drill slower.
await import('../../test/support/memory-folder.ts');

const STEPS = 200;
const PROCESSES = 2;
const DEFECTS = ['late claims', 'ignored version'] as const;

export const drill: Drill = {
  purpose:
    'The app, the batcher and SQLite in one thread with virtual time, random steps and faults: every response and every stored animal agrees with a simple model.',
  unit: 'seeds',
  rounds: 10_000,
  quickRounds: 40,
  run: (options) => run(options),
  control: {
    brokenBy: 'claims that are stored after their animals, and a cache that ignores the version',
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

/** Each defect must be found. */
async function runControl(options: DrillOptions): Promise<DrillReport> {
  const reports: DrillReport[] = [];
  for (const defect of DEFECTS) reports.push(await run(options, defect));
  const areAllFound = reports.every(({ violations }) => violations.length > 0);
  const violations = areAllFound ? reports.flatMap((report) => report.violations) : [];
  return { passed: 0, violations, figures: {} };
}
