import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { brokenByBug } from '../broken/broken.ts';
import type { Job, JobReport } from './simulation.ts';

// Files in memory: a disk would only make the drill slower.
await import('../../harness/memory-folder.ts');

const STEPS = 200;
const PROCESSES = 2;
const SIMULATION = fileURLToPath(new URL('simulation.ts', import.meta.url));
/** A failure ends the other processes too, but only when they have done their seeds. */
const SEEDS_PER_PROCESS_MAX = 250;
/** The flags of Node.js and the part of the job that break the service in each of these ways. */
const DEFECTS: Readonly<Record<string, Defect>> = {
  'late claims': { nodeFlags: [], hasLateClaims: true },
  'ignored version': { nodeFlags: brokenByBug('the cache ignores the version of the store') },
};

type Defect = Pick<Job, 'nodeFlags' | 'hasLateClaims'>;

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
  { nodeFlags = [], hasLateClaims = false }: Defect = {},
): Promise<DrillReport> {
  const job = { firstSeed: seed, seeds: rounds, steps: STEPS, hasLateClaims, nodeFlags };
  const { seeds, failures } = await runJobs(job, PROCESSES, (done) =>
    onProgress(`${done} of ${rounds} seeds`),
  );
  return {
    passed: seeds - failures.length,
    violations: failures.map((lines) => lines.join('\n  ')),
    figures: { 'steps performed': seeds * STEPS },
  };
}

async function runControl(options: DrillOptions): Promise<DrillReport> {
  const reports: Record<string, DrillReport> = {};
  for (const [name, defect] of Object.entries(DEFECTS)) reports[name] = await run(options, defect);
  return mergeReports(reports);
}

interface JobsReport {
  seeds: number;
  /** The story of each process that found a violation, line by line. */
  failures: string[][];
}

/** Performs the seeds in several processes, which simulate their timers. Stops at the first failure. */
export async function runJobs(
  job: Job,
  processes: number,
  onProgress: (seeds: number) => void = () => undefined,
): Promise<JobsReport> {
  const total: JobsReport = { seeds: 0, failures: [] };
  let next = job.firstSeed;
  let shown = 0;
  const end = job.firstSeed + job.seeds;
  const work = async () => {
    while (next < end && total.failures.length === 0) {
      const seeds = Math.min(SEEDS_PER_PROCESS_MAX, Math.ceil(job.seeds / processes), end - next);
      const firstSeed = next;
      next += seeds;
      const report = await runJob({ ...job, firstSeed, seeds }, (more) => {
        shown += more;
        onProgress(shown);
      });
      total.seeds += report.seeds;
      if (report.failure !== undefined) total.failures.push(report.failure);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  return total;
}

async function runJob(job: Job, onProgress: (more: number) => void): Promise<JobReport> {
  const { nodeFlags = [] } = job;
  const flags = ['--disable-warning=ExperimentalWarning', ...nodeFlags, SIMULATION];
  const child = spawn(process.execPath, [...flags, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const killChild = () => void child.kill('SIGKILL');
  process.once('exit', killChild);
  let last: JobReport | undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const before = last?.seeds ?? 0;
    last = JSON.parse(line) as JobReport;
    onProgress(last.seeds - before);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  process.off('exit', killChild);
  if (code !== 0 || last === undefined) throw new Error(`the simulation ended with ${code}`);
  return last;
}
