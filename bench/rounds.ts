import { withContenders, type Bench, type Run } from './bench.ts';
import type { LoadResult } from './generator.ts';
import { newRow, quantity, verdictOf, type Bound, type Row } from './row.ts';
import { slicedRound } from './slices.ts';
import { median, newFigure } from './statistics.ts';

/** A goal of one run in relation to another. `atLeast` compares requests per unit of cost, `atMost` the cost. */
export interface Goal {
  what: string;
  unit: string;
  bound: Bound;
  of: Run;
  against: Run;
}

/** Repeats a round, which returns one value per goal, until all goals are decided or a limit is reached. */
export async function untilDecided(
  { roundsMax, deadlineMs, progress }: Pick<Bench, 'roundsMax' | 'deadlineMs' | 'progress'>,
  what: string,
  bounds: readonly Bound[],
  round: () => Promise<readonly number[]>,
): Promise<number[][]> {
  const values: number[][] = bounds.map(() => []);
  const isDecided = (bound: Bound, index: number) =>
    verdictOf(bound, newFigure(values[index] ?? [])) !== 'within noise';
  for (let count = 1; count <= roundsMax; count += 1) {
    progress.show(`${what}: round ${count} of at most ${roundsMax}`);
    for (const [index, value] of (await round()).entries()) values[index]?.push(value);
    if (bounds.every(isDecided) || performance.now() > deadlineMs) break;
  }
  return values;
}

/** The costs of a request of each run. Values with the same index were measured right after each other. */
type Round = (bench: Bench, runs: readonly Run[]) => Promise<number[][]>;

/** The processor time per request in microseconds, in slices where the system allows it. */
export const costRound: Round = async (bench, runs) => {
  if (bench.generator.canSlice) return slicedRound(bench, runs);
  const results = await wholeRound(bench, runs);
  return results.map(({ processor, requests, requestsPerSecond }) => [
    processor === undefined ? 1e6 / requestsPerSecond : processor.total / requests,
  ]);
};

/** The time per request in microseconds. */
const timeRound: Round = async (bench, runs) =>
  (await wholeRound(bench, runs)).map(({ requestsPerSecond }) => [1e6 / requestsPerSecond]);

export interface WholeRun extends LoadResult {
  /** The processor time in microseconds; undefined where the system does not report it. */
  processor: { total: number; database: number } | undefined;
}

/** Starts the contenders, warms up each, and then sends load to one after the other, for seconds. */
export function wholeRound(bench: Bench, runs: readonly Run[]): Promise<WholeRun[]> {
  const { generator, warmUpSeconds, roundSeconds: seconds } = bench;
  const recipes = runs.map(({ recipe }) => recipe);
  return withContenders(bench, recipes, async (...contenders) => {
    const loaded = runs.flatMap(({ load }, index) => {
      const contender = contenders[index];
      return contender === undefined ? [] : { contender, load };
    });
    for (const { contender, load } of loaded)
      await generator.run(contender.url, load, { seconds: warmUpSeconds });
    const results: WholeRun[] = [];
    for (const { contender, load } of loaded) {
      const clock = contender.processorClock();
      const before = clock();
      const result = await generator.run(contender.url, load, { seconds });
      const after = clock();
      const processor = {
        total: after.total - before.total,
        database: after.database - before.database,
      };
      results.push({ ...result, processor: Number.isNaN(processor.total) ? undefined : processor });
    }
    return results;
  });
}

/** Compares by processor time. */
export function compareCosts(bench: Bench, goals: readonly Goal[]): Promise<Row[]> {
  return compare(bench, goals, true);
}

/** Compares by requests per second, which also depend on the disk. */
export function compareRates(bench: Bench, goals: readonly Goal[]): Promise<Row[]> {
  return compare(bench, goals, false);
}

async function compare(
  bench: Bench,
  goals: readonly Goal[],
  isByProcessorTime: boolean,
): Promise<Row[]> {
  const round = isByProcessorTime ? costRound : timeRound;
  const costs = new Map<Run, number[]>();
  const runs = [...new Set(goals.flatMap(({ of, against }) => [of, against]))];
  const bounds = goals.map(({ bound }) => bound);
  const values = await untilDecided(bench, goals[0]?.what ?? '', bounds, async () => {
    const measured = new Map((await round(bench, runs)).map((own, index) => [runs[index], own]));
    for (const run of runs)
      costs.set(run, [...(costs.get(run) ?? []), median(measured.get(run) ?? [])]);
    return goals.map(({ of, against, bound }) => {
      const ratio = ratioOf(measured.get(of) ?? [], measured.get(against) ?? []);
      return 'atMost' in bound ? ratio : 1 / ratio;
    });
  });
  return goals.map(({ of, against, ...goal }, index) => {
    const [cost = Number.NaN, other = Number.NaN] = [of, against].map((run) =>
      median(costs.get(run) ?? []),
    );
    // Not both costs: the host changes its speed, so the ratio of two medians is not the median of the ratios.
    const note = isByProcessorTime
      ? `${cost.toFixed(1)} µs`
      : `${[cost, other].map((time) => quantity(Math.round(1e6 / time))).join(' against ')} requests/s`;
    return newRow({ ...goal, values: values[index] ?? [], note, isByProcessorTime });
  });
}

/** The median of the ratios of what was measured right after each other. */
export function ratioOf(values: readonly number[], against: readonly number[]): number {
  if (values.length !== against.length) throw new Error('every value needs a counterpart');
  const ratio = median(values.map((value, index) => value / (against[index] ?? Number.NaN)));
  if (!(ratio > 0)) throw new Error('the processor time could not be read');
  return ratio;
}
