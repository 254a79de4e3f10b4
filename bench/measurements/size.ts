import { deepPages } from '../animals.ts';
import { alternate, recordAnswer, withContenders, type Bench, type Row } from '../bench.ts';
import { Contender } from '../contender.ts';
import type { Load } from '../generator.ts';
import { bare, ours } from '../recipes.ts';
import { compareCosts, costFigure, newRow, quantity, unmeasuredRow } from '../row.ts';
import { newFigure } from '../statistics.ts';
import { CREATE } from './creates.ts';
import { LIST } from './reads.ts';

const SMALL_COUNT = 1_000;
const LARGE_COUNT = 10_000_000;
const QUICK_LARGE_COUNT = 300_000;
const START_COUNT = 1_000_000;
const STARTS = 11;
const MEMORY_LOAD_SECONDS = 15;
const QUICK_MEMORY_LOAD_SECONDS = 1;
const QUICK_STARTS = 3;
/** More answers than the service remembers, and about as many pages as 1,000 animals can give. */
const DIFFERENT_PAGES = 37_000;

/** What every operation costs in a large store against a small one. */
export async function measureGrowth(bench: Bench): Promise<Row[]> {
  const largeCount = bench.isQuick ? QUICK_LARGE_COUNT : LARGE_COUNT;
  bench.progress.show(`growth: making ${quantity(largeCount)} animals`);
  const smallFolder = await bench.stores.folderWith(SMALL_COUNT);
  const largeFolder = await bench.stores.folderWith(largeCount);
  const operations: { name: string; load: (animalCount: number) => Load }[] = [
    { name: 'list', load: () => ({ method: 'GET', paths: everyTimeNew(() => '/v1/pets') }) },
    {
      name: 'deep list',
      load: (count) => ({ method: 'GET', paths: deepPages(DIFFERENT_PAGES, count) }),
    },
    {
      name: 'get',
      load: (count) => ({
        method: 'GET',
        paths: everyTimeNew((index) => `/v1/pets/${spreadId(index, count)}`),
      }),
    },
    { name: 'create', load: () => CREATE },
  ];
  const rows = await withContenders(
    bench,
    [ours(smallFolder), ours(largeFolder)],
    async (small, large) => {
      if (small === undefined || large === undefined) return [];
      const measured: Row[] = [];
      for (const { name, load } of operations) {
        const pace = bench.isQuick ? hastened(bench, measured.length) : bench;
        const what = `${name}: cost at ${quantity(largeCount)} animals against 1,000`;
        const [few = [], many = []] = await alternate(pace, what, [
          { contender: small, load: load(SMALL_COUNT) },
          { contender: large, load: load(largeCount) },
        ]);
        const note = compareCosts(few, many);
        const figure = costFigure(many, few);
        measured.push(newRow({ what, bound: { atMost: 1.25 }, unit: '×', figure, note }));
      }
      return measured;
    },
  );
  bench.stores.remove(largeFolder);
  return rows;
}

/** Fewer rounds, and one warming up for all: a first look has to fit into two minutes. */
function hastened(bench: Bench, measured: number): Bench {
  return { ...bench, rounds: 2, warmUpSeconds: measured === 0 ? bench.warmUpSeconds : 0 };
}

/** Targets that differ in a parameter which means nothing, so that no kept answer helps. */
function everyTimeNew(path: (index: number) => string): string[] {
  return Array.from({ length: DIFFERENT_PAGES }, (_, index) => `${path(index)}?n=${index}`);
}

/** One of as many animals as a small store has, spread over the whole of a large one. */
function spreadId(index: number, animalCount: number): number {
  const place = (index * 389) % SMALL_COUNT;
  return 1 + Math.floor((place / SMALL_COUNT) * animalCount);
}

/** The most memory held, under lists that are kept, lists that are not, and creates. */
export async function measureMemory(bench: Bench): Promise<Row[]> {
  const what = 'memory under load';
  const folder = await bench.stores.folderWith(SMALL_COUNT);
  return withContenders(bench, [ours(folder)], async (our) => {
    if (our === undefined) return [];
    const answer = await recordAnswer(bench, our, '/v1/pets');
    return withContenders(bench, [bare(answer)], async (limit) => {
      if (limit === undefined) return [];
      const deep: Load = { method: 'GET', paths: deepPages(DIFFERENT_PAGES, SMALL_COUNT) };
      const seconds = bench.isQuick ? QUICK_MEMORY_LOAD_SECONDS : MEMORY_LOAD_SECONDS;
      for (const load of [LIST, deep, CREATE]) {
        for (const { name, url } of [our, limit]) {
          bench.progress.show(`${what}: ${name}`);
          await bench.generator.run(url, load, { seconds });
        }
      }
      const [of, against] = [our.peakMemoryMib(), limit.peakMemoryMib()];
      if (of === undefined || against === undefined) {
        return [unmeasuredRow(what, 'at most 1.6 × bare', 'not measured: needs Linux')];
      }
      const figure = newFigure([of / against]);
      const note = `${quantity(of)} MiB against ${quantity(against)} MiB at the most`;
      return [newRow({ what, bound: { atMost: 1.6 }, unit: '× bare', figure, note })];
    });
  });
}

/** From the start of the process to the response to the first list. */
export async function measureStart(bench: Bench): Promise<Row[]> {
  const what = `start to first response, ${quantity(START_COUNT)} animals`;
  bench.progress.show(`${what}: making the animals`);
  const folder = await bench.stores.folderWith(START_COUNT);
  const startsMs: number[] = [];
  for (let start = 0; start < (bench.isQuick ? QUICK_STARTS : STARTS); start += 1) {
    bench.progress.show(`${what}: start ${start + 1}`);
    const options = { key: bench.key, cores: bench.cores.server };
    const contender = await Contender.start(ours(folder), options);
    startsMs.push(contender.startMs);
    await contender.stop();
  }
  bench.stores.remove(folder);
  const note = `${startsMs.length} starts, on one core, the store in the system's cache`;
  return [newRow({ what, bound: { atMost: 400 }, unit: 'ms', figure: newFigure(startsMs), note })];
}
