import { deepPages } from '../animals.ts';
import { alternate, recordResponse, withContenders, type Bench, type Row } from '../bench.ts';
import { Contender } from '../contender.ts';
import type { Load } from '../generator.ts';
import { bare, petstore } from '../recipes.ts';
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
/** More pages than the service caches, and about as many different pages as 1,000 animals allow. */
const DIFFERENT_PAGES = 37_000;

/** Compares the cost of each operation in a large store with that in a small one. */
export async function measureGrowth(bench: Bench): Promise<Row[]> {
  const largeCount = bench.isQuick ? QUICK_LARGE_COUNT : LARGE_COUNT;
  bench.progress.show(`growth: creating ${quantity(largeCount)} animals`);
  const smallFolder = await bench.stores.folderWith(SMALL_COUNT);
  const largeFolder = await bench.stores.folderWith(largeCount);
  const operations: { name: string; load: (animalCount: number) => Load }[] = [
    { name: 'list', load: () => ({ method: 'GET', paths: uncachedPaths(() => '/v1/pets') }) },
    {
      name: 'deep list',
      load: (count) => ({ method: 'GET', paths: deepPages(DIFFERENT_PAGES, count) }),
    },
    {
      name: 'get',
      load: (count) => ({
        method: 'GET',
        paths: uncachedPaths((index) => `/v1/pets/${spreadId(index, count)}`),
      }),
    },
    { name: 'create', load: () => CREATE },
  ];
  const rows = await withContenders(
    bench,
    [petstore(smallFolder), petstore(largeFolder)],
    async (small, large) => {
      if (small === undefined || large === undefined) return [];
      const measured: Row[] = [];
      for (const { name, load } of operations) {
        const pace = bench.isQuick ? shortened(bench, measured.length) : bench;
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

/** Fewer rounds and only one warm-up, because a quick run must take less than two minutes. */
function shortened(bench: Bench, measured: number): Bench {
  return { ...bench, rounds: 2, warmUpSeconds: measured === 0 ? bench.warmUpSeconds : 0 };
}

/** Adds a different unknown parameter to each path, so that no response comes from the cache. */
function uncachedPaths(path: (index: number) => string): string[] {
  return Array.from({ length: DIFFERENT_PAGES }, (_, index) => `${path(index)}?n=${index}`);
}

/** Chooses as many different ids as the small store has, spread over the whole store. */
function spreadId(index: number, animalCount: number): number {
  const position = (index * 389) % SMALL_COUNT;
  return 1 + Math.floor((position / SMALL_COUNT) * animalCount);
}

/** Measures the highest memory use under cached lists, uncached lists and creates. */
export async function measureMemory(bench: Bench): Promise<Row[]> {
  const what = 'memory under load';
  const folder = await bench.stores.folderWith(SMALL_COUNT);
  return withContenders(bench, [petstore(folder)], async (service) => {
    if (service === undefined) return [];
    const response = await recordResponse(bench, service, '/v1/pets');
    return withContenders(bench, [bare(response)], async (limit) => {
      if (limit === undefined) return [];
      const deep: Load = { method: 'GET', paths: deepPages(DIFFERENT_PAGES, SMALL_COUNT) };
      const seconds = bench.isQuick ? QUICK_MEMORY_LOAD_SECONDS : MEMORY_LOAD_SECONDS;
      for (const load of [LIST, deep, CREATE]) {
        for (const { name, url } of [service, limit]) {
          bench.progress.show(`${what}: ${name}`);
          await bench.generator.run(url, load, { seconds });
        }
      }
      const [of, against] = [service.peakMemoryMib(), limit.peakMemoryMib()];
      if (of === undefined || against === undefined) {
        return [unmeasuredRow(what, 'at most 1.6 × bare', 'not measured: needs Linux')];
      }
      const figure = newFigure([of / against]);
      const note = `${quantity(of)} MiB against ${quantity(against)} MiB at most`;
      return [newRow({ what, bound: { atMost: 1.6 }, unit: '× bare', figure, note })];
    });
  });
}

/** Measures the time from the start of the process to the first response to a list. */
export async function measureStart(bench: Bench): Promise<Row[]> {
  const what = `start to first response, ${quantity(START_COUNT)} animals`;
  bench.progress.show(`${what}: creating the animals`);
  const folder = await bench.stores.folderWith(START_COUNT);
  const startsMs: number[] = [];
  for (let start = 0; start < (bench.isQuick ? QUICK_STARTS : STARTS); start += 1) {
    bench.progress.show(`${what}: start ${start + 1}`);
    const options = { key: bench.key, cores: bench.cores.server };
    const contender = await Contender.start(petstore(folder), options);
    startsMs.push(contender.startMs);
    await contender.stop();
  }
  bench.stores.remove(folder);
  const note = `${startsMs.length} starts, on one core, the store in the system's cache`;
  return [newRow({ what, bound: { atMost: 400 }, unit: 'ms', figure: newFigure(startsMs), note })];
}
