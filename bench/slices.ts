import { setTimeout as sleep } from 'node:timers/promises';
import { withContenders, type Bench, type Run } from './bench.ts';
import type { SlicedLoad } from './generator.ts';

const SLICE_MS = 30;
/** A slow contender gets longer slices. */
const SLICE_REQUESTS_MIN = 300;
const SLICE_MS_MAX = 200;
/** A server that uses less than this in an interval has served all requests. */
const DRAINED_MICROSECONDS = 500;
const DRAIN_INTERVAL_MS = 5;
const DRAIN_INTERVALS_MAX = 100;

/** One server with its load. */
interface Pair {
  load: SlicedLoad;
  /** The processor time that it has used, in microseconds. */
  clock: () => number;
}

/**
 * Returns the processor time per request of each run, one value per turn. All servers share one core, all generators
 * another, and signals let one pair work at a time. A shared host changes its speed within seconds: two rounds of
 * seconds are measured at different speeds, two adjacent slices of 30 ms nearly at the same. Every second turn has
 * the opposite order. The caller takes the median of the ratios of the turns, which a disturbed turn does not move.
 */
export async function slicedRound(bench: Bench, runs: readonly Run[]): Promise<number[][]> {
  const recipes = runs.map(({ recipe }) => recipe);
  return withContenders(bench, recipes, async (...contenders) => {
    await using loads = new AsyncDisposableStack();
    const started = contenders.map(({ url }, index) => {
      const load = runs[index]?.load;
      if (load === undefined) throw new Error('every contender needs a load');
      return loads.use(bench.generator.start(url, load));
    });
    // All at the same time: a generator that is stopped for seconds would find its connections closed.
    await sleep(bench.warmUpSeconds * 1000 * runs.length);
    for (const load of started) load.pause();
    const pairs = started.map((load, index): Pair => {
      const clock = contenders[index]?.processorClock();
      return { load, clock: () => clock?.().total ?? Number.NaN };
    });
    const costs = await takeTurns(pairs, bench.slices);
    for (const load of started) await load.stop();
    return costs;
  });
}

async function takeTurns(pairs: readonly Pair[], turns: number): Promise<number[][]> {
  const costs: number[][] = pairs.map(() => []);
  // The first turn is not counted: in it the servers wake up from the warm-up.
  for (let turn = 0; turn <= turns; turn += 1) {
    const order = [...pairs.entries()];
    for (const [index, pair] of turn % 2 === 0 ? order : order.toReversed()) {
      const cost = await slice(pair);
      if (turn > 0) costs[index]?.push(cost);
    }
  }
  return costs;
}

/** Returns the processor time per request. */
async function slice({ load, clock }: Pair): Promise<number> {
  const [usedBefore, sentBefore, startedMs] = [clock(), load.sent(), performance.now()];
  load.resume();
  do await sleep(SLICE_MS);
  while (
    load.sent() - sentBefore < SLICE_REQUESTS_MIN &&
    performance.now() - startedMs < SLICE_MS_MAX
  );
  load.pause();
  let used = clock();
  for (let interval = 0; interval < DRAIN_INTERVALS_MAX; interval += 1) {
    const before = used;
    await sleep(DRAIN_INTERVAL_MS);
    used = clock();
    if (used - before < DRAINED_MICROSECONDS) break;
  }
  return (used - usedBefore) / (load.sent() - sentBefore);
}
