import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Job, JobReport } from './simulation.ts';

const SIMULATION = fileURLToPath(new URL('simulation.ts', import.meta.url));
/** A failure ends the other processes too, but only when they have done their seeds. */
const SEEDS_PER_PROCESS_MAX = 250;

export interface JobsReport {
  seeds: number;
  steps: number;
  /** The story of each process that found a violation, line by line. */
  failures: string[][];
}

/** Performs the seeds in several processes, which simulate their timers. Stops at the first failure. */
export async function runJobs(
  job: Job,
  processes: number,
  onProgress: (seeds: number) => void = () => undefined,
): Promise<JobsReport> {
  const total: JobsReport = { seeds: 0, steps: 0, failures: [] };
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
      total.steps += report.steps;
      if (report.failure !== undefined) total.failures.push(report.failure);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  return total;
}

async function runJob(job: Job, onProgress: (more: number) => void): Promise<JobReport> {
  const flags = ['--disable-warning=ExperimentalWarning', SIMULATION, JSON.stringify(job)];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
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
