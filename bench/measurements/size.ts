import { deepPages } from '../animals.ts';
import { recordResponses, withContenders, type Bench, type Cell, type Outcome } from '../bench.ts';
import type { Contender, Recipe } from '../contender.ts';
import type { Load } from '../generator.ts';
import { recipeOf } from '../recipe-of.ts';
import { ANIMAL_COUNT, ownContender, petstore } from '../recipes.ts';
import { compareCosts, untilDecided } from '../rounds.ts';
import { newRow, quantity, unmeasuredRow, type Row } from '../row.ts';
import { median } from '../statistics.ts';

const LARGE_COUNT = 10_000_000;
const QUICK_LARGE_COUNT = 300_000;
const START_COUNT = 1_000_000;
const MEMORY_REQUESTS = 100_000;
const QUICK_MEMORY_REQUESTS = 1_000;
/** A slow contender stops here, with fewer requests. */
const MEMORY_SECONDS_MAX = 8;
const MEMORY_COLUMN = 'memory, MiB';
/** More pages than the service caches, and about as many different pages as 1,000 animals allow. */
const DIFFERENT_PAGES = 37_000;

/** Compares the cost of each operation in a large store with that in a small one. */
export async function measureGrowth(bench: Bench): Promise<Outcome> {
  const largeCount = bench.isQuick ? QUICK_LARGE_COUNT : LARGE_COUNT;
  bench.progress.show(`growth: creating ${quantity(largeCount)} animals`);
  const largeFolder = await bench.stores.folderWith(largeCount);
  const large = petstore(bench.key, largeFolder);
  const small = petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT));
  const rows: Row[] = [];
  for (const [name, load] of growthLoads(large)) {
    const goal = {
      what: `${name}, ${quantity(largeCount)} animals`,
      bound: { atMost: 1.15 },
      unit: '× the cost with 1,000',
      of: { recipe: large, load: load(largeCount) },
      against: { recipe: small, load: load(ANIMAL_COUNT) },
    };
    rows.push(...(await compareCosts(bench, [goal])));
  }
  bench.stores.remove(largeFolder);
  return { rows };
}

type LoadOfCount = (animalCount: number) => Load;

/** No response comes from the cache. */
function growthLoads({ load }: Recipe): [name: string, load: LoadOfCount][] {
  const list = load('list');
  return [
    ['list by cursor', (count) => ({ ...list, paths: deepPages(DIFFERENT_PAGES, count) })],
    ['get', (count) => ({ ...list, paths: spreadPaths(count) })],
    ['create', () => load('create')],
  ];
}

/** As many different ids as the small store has, spread over the whole store, with a different parameter each time. */
function spreadPaths(animalCount: number): string[] {
  return Array.from({ length: DIFFERENT_PAGES }, (_, index) => {
    const position = (index * 389) % ANIMAL_COUNT;
    const id = 1 + Math.floor((position / ANIMAL_COUNT) * animalCount);
    return `/v1/pets/${id}?n=${index}`;
  });
}

/** Measures the memory of every contender after lists and creates; the goal compares the service with `bare`. */
export async function measureMemory(bench: Bench): Promise<Outcome> {
  const parts = {
    what: 'memory after 100,000 lists and 100,000 creates',
    bound: { atMost: 1.4 },
    unit: '× bare',
  };
  const cells = await memoryOf(bench, ['bare', ...OTHERS]);
  const isMissing = cells.slice(0, 2).some((cell) => cell.median === undefined);
  if (isMissing) return { rows: [unmeasuredRow(parts, 'needs Linux')], cells };
  const [values = []] = await untilDecided(bench, parts.what, [parts.bound], async () => {
    const [service, bare] = await memoryOf(bench, ['bare']);
    return [(service?.median ?? Number.NaN) / (bare?.median ?? Number.NaN)];
  });
  return { rows: [newRow({ ...parts, values })], cells };
}

const OTHERS = ['bare-tuned', 'bare-sqlite', 'go-sqlite', 'fastify-sqlite'];

/** The service comes first, then the others in their order. */
async function memoryOf(bench: Bench, names: readonly string[]): Promise<Cell[]> {
  const animals = ANIMAL_COUNT;
  const recipe = petstore(bench.key, await bench.stores.folderWith(animals));
  return withContenders(bench, [recipe], async (service) => {
    if (service === undefined) return [];
    const cells = [await memoryAfterLoad(bench, service)];
    for (const name of names) {
      const column = MEMORY_COLUMN;
      try {
        const load = service.recipe.load('create');
        const other = await recipeOf(name, { bench, animals, service, load });
        cells.push(await withContenders(bench, [other], (each) => memoryAfterLoad(bench, each)));
      } catch (error) {
        const why = (error as Error).message.split('\n')[0] ?? '';
        cells.push({ contender: name, column, why });
      }
    }
    return cells;
  });
}

async function memoryAfterLoad(bench: Bench, contender: Contender | undefined): Promise<Cell> {
  const [name = '', column] = [contender?.name, MEMORY_COLUMN];
  const requestsWanted = bench.isQuick ? QUICK_MEMORY_REQUESTS : MEMORY_REQUESTS;
  for (const operation of ['list', 'create'] as const) {
    bench.progress.show(`memory: ${operation}, ${name}`);
    if (contender === undefined) continue;
    let requests = 0;
    for (let second = 0; second < MEMORY_SECONDS_MAX && requests < requestsWanted; second += 1) {
      const load = contender.recipe.load(operation);
      requests += (await bench.generator.run(contender.url, load, { seconds: 1 })).requests;
    }
  }
  const memory = contender?.memoryMib();
  if (memory === undefined) return { contender: name, column, why: 'needs Linux' };
  return { contender: name, column, median: memory.resident };
}

/** Compares the time from the start of the process to the first list with that of `bare`, start by start. */
export async function measureStart(bench: Bench): Promise<Outcome> {
  const what = `start to the first list, ${quantity(START_COUNT)} animals`;
  bench.progress.show(`${what}: creating the animals`);
  const folder = await bench.stores.folderWith(START_COUNT);
  const service = petstore(bench.key, folder);
  const argument = await withContenders(bench, [service], async (started) =>
    started === undefined ? '' : recordResponses(bench, started, [service.load('list')]),
  );
  const bare = ownContender(bench.key, { name: 'bare', script: 'bare.js', argument });
  const goal = { what, bound: { atMost: 3 }, unit: '× bare' };
  const [serviceMs, bareMs]: [number[], number[]] = [[], []];
  const [values = []] = await untilDecided(bench, what, [goal.bound], async () => {
    const [of, against] = [await startMs(bench, service), await startMs(bench, bare)];
    serviceMs.push(of);
    bareMs.push(against);
    return [of / against];
  });
  bench.stores.remove(folder);
  const times = [serviceMs, bareMs].map((each) => `${quantity(Math.round(median(each)))} ms`);
  const note = `${times.join(' against ')}, on one core`;
  return { rows: [newRow({ ...goal, values, note })] };
}

function startMs(bench: Bench, recipe: Recipe): Promise<number> {
  return withContenders(bench, [recipe], async (contender) => contender?.startMs ?? Number.NaN);
}
