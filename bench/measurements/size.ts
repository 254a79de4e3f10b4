import { deepPages } from '../animals.ts';
import {
  alternate,
  recordResponses,
  startContender,
  withContenders,
  type Bench,
  type Cell,
  type Outcome,
} from '../bench.ts';
import type { Contender, Recipe } from '../contender.ts';
import type { Load } from '../generator.ts';
import { recipeOf } from '../recipe-of.ts';
import { ANIMAL_COUNT, ownContender, petstore } from '../recipes.ts';
import { compareCosts, costRatio, newRow, quantity, unmeasuredRow, type Row } from '../row.ts';
import { median, newFigure, ratioFigure } from '../statistics.ts';

const LARGE_COUNT = 10_000_000;
const QUICK_LARGE_COUNT = 300_000;
const START_COUNT = 1_000_000;
const STARTS = 11;
const QUICK_STARTS = 3;
const MEMORY_STARTS = 3;
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
  const recipes = [
    petstore(bench.key, largeFolder),
    petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT)),
  ];
  const rows = await withContenders(bench, recipes, async (large, small) => {
    if (small === undefined || large === undefined) return [];
    const measured: Row[] = [];
    for (const [name, load] of growthLoads(large.recipe)) {
      const what = `${name}, ${quantity(largeCount)} animals`;
      const [many = [], few = []] = await alternate(bench, what, [
        { contender: large, load: load(largeCount) },
        { contender: small, load: load(ANIMAL_COUNT) },
      ]);
      measured.push(
        newRow({
          what,
          bound: { atMost: 1.15 },
          unit: '× the cost with 1,000',
          figure: costRatio(many, few),
          isByProcessorTime: true,
          note: compareCosts(many, few),
        }),
      );
    }
    return measured;
  });
  bench.stores.remove(largeFolder);
  return { rows };
}

type LoadOfCount = (animalCount: number) => Load;

/** No response comes from the cache. */
function growthLoads({ load }: Recipe): [name: string, load: LoadOfCount][] {
  const list = load('list');
  return [
    ['list', () => ({ ...list, paths: differentPaths(() => '/v1/pets') })],
    ['list by cursor', (count) => ({ ...list, paths: deepPages(DIFFERENT_PAGES, count) })],
    [
      'get',
      (count) => ({
        ...list,
        paths: differentPaths((index) => `/v1/pets/${spreadId(index, count)}`),
      }),
    ],
    ['create', () => load('create')],
  ];
}

/** Adds a different unknown parameter to each path. */
function differentPaths(path: (index: number) => string): string[] {
  return Array.from({ length: DIFFERENT_PAGES }, (_, index) => `${path(index)}?n=${index}`);
}

/** Chooses as many different ids as the small store has, spread over the whole store. */
function spreadId(index: number, animalCount: number): number {
  const position = (index * 389) % ANIMAL_COUNT;
  return 1 + Math.floor((position / ANIMAL_COUNT) * animalCount);
}

/** Measures the memory of every contender after lists and creates. */
export async function measureMemory(bench: Bench): Promise<Outcome> {
  const parts = {
    what: 'memory after 100,000 lists and 100,000 creates',
    bound: { atMost: 1.4 },
    unit: '× bare',
  };
  const [of, against]: [number[], number[]] = [[], []];
  const cells: Cell[] = [];
  for (let start = 1; start <= (bench.isQuick ? 1 : MEMORY_STARTS); start += 1) {
    const names = ['bare', ...(start === 1 ? OTHERS : [])];
    const measured = await memoryOf(bench, names);
    cells.push(...measured.slice(2));
    const [service, bare] = measured;
    if (service?.figure === undefined || bare?.figure === undefined) {
      return { rows: [unmeasuredRow(parts, 'needs Linux')] };
    }
    of.push(service.figure.median);
    against.push(bare.figure.median);
  }
  const two = [
    { contender: 'petstore', column: MEMORY_COLUMN, figure: newFigure(of) },
    { contender: 'bare', column: MEMORY_COLUMN, figure: newFigure(against) },
  ];
  return {
    rows: [newRow({ ...parts, figure: ratioFigure(of, against) })],
    cells: [...two, ...cells],
  };
}

const OTHERS = [
  'bare-tuned',
  'bare-sqlite',
  'go-sqlite',
  'fastify-sqlite',
  'pocketbase',
  'json-server',
];

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
  return { contender: name, column, figure: newFigure([memory.resident]) };
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
  const startsMs: [number[], number[]] = [[], []];
  for (let start = 1; start <= (bench.isQuick ? QUICK_STARTS : STARTS); start += 1) {
    for (const [index, recipe] of [service, bare].entries()) {
      bench.progress.show(`${what}: start ${start}, ${recipe.name}`);
      const contender = await startContender(bench, recipe);
      startsMs[index]?.push(contender.startMs);
      await contender.stop();
    }
  }
  bench.stores.remove(folder);
  const [of, against] = startsMs;
  const figure = ratioFigure(of, against);
  const note = `${quantity(median(of))} ms against ${quantity(median(against))} ms, on one core`;
  return { rows: [newRow({ what, bound: { atMost: 3 }, unit: '× bare', figure, note })] };
}
