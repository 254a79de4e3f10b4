// Performs stories in this process, which has no real timers afterwards. `simulation.drill.ts` starts it with the seeds as
// its arguments, and reads its report from standard output.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newRandom, type Random } from '../../harness/random.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { installDatabase, simulated } from './database.ts';
import { newStory, shrink, tell, type Step } from './story.ts';
import { VirtualTime } from './virtual-time.ts';
import { installThreads } from './writer-thread.ts';

const DELAY_MS_MAX = 4;

/** What a process is asked to do, as JSON in its first argument. */
export interface Job {
  firstSeed: number;
  seeds: number;
  steps: number;
  /** Performed instead of the story of each seed. */
  story?: Step[];
  /** A deliberate defect: claims are stored after the commit of their animals. */
  hasLateClaims?: boolean;
  /** Instead of stories: for how long each seed offers more than the store can take. */
  overloadMs?: number;
  /** Flags of Node.js for the process. */
  nodeFlags?: readonly string[];
}

/** Written as one line of JSON whenever some seeds are done. */
export interface JobReport {
  seeds: number;
  /** The shortest story of the first seed that failed, line by line. */
  failure: string[] | undefined;
}

const {
  firstSeed,
  seeds,
  steps,
  story: given,
  hasLateClaims = false,
  overloadMs,
} = JSON.parse(process.argv[2] ?? '{}') as Job;
const SEEDS_PER_LINE = 20;

let random: Random = newRandom(firstSeed);
const time = new VirtualTime();
time.install();
installDatabase();
await installThreads({ time, nextDelayMs: () => 1 + random.integer(DELAY_MS_MAX) });
// Loaded only now, with the simulated timers, threads and databases.
const { Overload } = await import('./overload.ts');
const { World } = await import('./world.ts');
const { openSqliteStore } = await import('../../src/storage/sqlite/store.ts');

const folder = mkdtempSync(join(tmpdir(), 'petstore-simulation-'));
try {
  const runtime = {
    time,
    folder,
    emptyStore: await newEmptyStore(),
    setRandom: (used: Random) => (random = used),
  };
  simulated.hasLateClaims = hasLateClaims;
  const perform = (seed: number, story: readonly Step[]) => new World(runtime, seed).perform(story);
  const searchSeed = overloadMs === undefined ? tryStory : tryOverload;
  for (let done = 0; done < seeds; done += 1) {
    const failure = await searchSeed(firstSeed + done);
    if (failure !== undefined || (done + 1) % SEEDS_PER_LINE === 0 || done + 1 === seeds) {
      report(done + 1, failure);
    }
    if (failure !== undefined) break;
  }

  async function tryOverload(seed: number): Promise<string[] | undefined> {
    const violations = await new Overload(runtime, seed).run(overloadMs ?? 0);
    return violations.length > 0 ? violations : undefined;
  }

  async function tryStory(seed: number): Promise<string[] | undefined> {
    const story = given ?? newStory(newRandom(seed), steps);
    const violations = await perform(seed, story);
    if (violations.length === 0) return undefined;
    const shortest = await shrink(story, async (part) => (await perform(seed, part)).length > 0);
    const [violation] = await perform(seed, shortest);
    return [`${violation} (--rounds 1 --seed ${seed} repeats it)`, ...tell(shortest)];
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function report(done: number, failure: string[] | undefined): void {
  const line: JobReport = { seeds: done, failure };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Creating the schema takes longer than a story: it is done once. */
async function newEmptyStore(): Promise<Buffer> {
  const file = join(folder, 'empty.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  let isClosed = false;
  void store.close().then(() => (isClosed = true));
  await time.runUntil(() => isClosed, 60_000);
  return readFileSync(file);
}
