import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brokenByBug } from '../broken/broken.ts';
import { drill, type Control, type DrillOptions, type DrillReport } from '../drill.ts';
import type { Job, JobReport } from './simulation.ts';
import type { Step } from './story.ts';

const STEPS = 200;
const PROCESSES = 2;
const SIMULATION = fileURLToPath(new URL('simulation.ts', import.meta.url));
/** A failure ends the other processes too, but only when they have done their seeds. */
const SEEDS_PER_PROCESS_MAX = 250;

type Defect = Pick<Job, 'nodeFlags' | 'hasLateClaims' | 'overloadMs'>;

const STALE = 'a read that arrives later in its turn than the look at the version is stale';

// Two services on one file, each with the app, the batcher and SQLite, run in one thread with virtual time: faults before and after a commit, a full or failing
// disk, lost responses, clock jumps, restarts, revoked keys, changed animals. A failing story is shortened.
drill(
  'every response agrees with a simple model, whatever fails',
  { unit: 'seeds', rounds: 10_000, quickRounds: 40 },
  (options) => run(options, {}),
  {
    'claims are stored after their animals': {
      finds: ['was stored again'],
      search: (options) => run(options, { hasLateClaims: true }),
    },
    'a cache ignores the version of the store': {
      finds: ['list /pets'],
      search: (options) =>
        run(options, { nodeFlags: brokenByBug('the cache ignores the version of the store') }),
    },
    [STALE]: {
      finds: ['list /pets'],
      search: (options) => run(options, { nodeFlags: brokenByBug(STALE) }),
    },
  },
);

const OVERLOAD_MS = 10_000;
const overloaded = (bug: string, ...finds: string[]): Control => ({
  finds,
  search: (options) => run(options, { overloadMs: OVERLOAD_MS, nodeFlags: brokenByBug(bug) }),
});
const QUEUED = 'a slow store queues every create';
const COUNTED = 'a create that was stored still counts as waiting';
const LATE = 'a create is refused after 5 s instead of at once';
const WAITING = 'a list waits for the creates before it';

// A store that takes 2 ms per create gets five times what it can take, in an open loop and in virtual time.
drill(
  'under overload accepted creates keep their latency, the others are refused at once, and lists do not wait',
  { unit: 'seeds', rounds: 100, quickRounds: 2 },
  (options) => run(options, { overloadMs: OVERLOAD_MS }),
  {
    [QUEUED]: overloaded(QUEUED, 'an accepted create took'),
    [COUNTED]: overloaded(COUNTED, '0 creates per second were accepted'),
    [LATE]: overloaded(LATE, 'a refusal took'),
    [WAITING]: overloaded(WAITING, 'a list took'),
  },
);

test('creates that fail together after their commit are not stored a second time', async () => {
  const create = {
    do: 'create',
    service: 0,
    key: 0,
    isClaimed: false,
    status: 'sold',
    isLost: false,
    isWatched: false,
  } as const;
  const story: Step[] = [
    { do: 'fault', fault: 'throw after the commit' },
    { ...create, isOverlapped: true },
    { ...create, isOverlapped: false },
  ];
  const { failures } = await runJobs({ firstSeed: 1, seeds: 1, steps: 0, story }, 1);
  assert.deepEqual(failures, []);
});

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  defect: Defect,
): Promise<DrillReport> {
  const job = { firstSeed: seed, seeds: rounds, steps: STEPS, ...defect };
  const { seeds, failures } = await runJobs(job, PROCESSES, (done) =>
    onProgress(`${done} of ${rounds} seeds`),
  );
  return {
    passed: seeds - failures.length,
    violations: failures.map((lines) => lines.join('\n  ')),
    figures: defect.overloadMs === undefined ? { 'steps performed': seeds * STEPS } : {},
  };
}

interface JobsReport {
  seeds: number;
  /** The story of each process that found a violation, line by line. */
  failures: string[][];
}

/** Performs the seeds in several processes, which simulate their timers. Stops at the first failure. */
async function runJobs(
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
