import { storeFileOf } from '../animals.ts';
import { alternate, withContenders, type Bench, type Row } from '../bench.ts';
import type { Contender } from '../contender.ts';
import type { Load, LoadResult } from '../generator.ts';
import { petstore, typical } from '../recipes.ts';
import { newRow, throughputRow, unmeasuredRow } from '../row.ts';
import { slowFsync } from '../slow-fsync.ts';
import { median, ratioFigure } from '../statistics.ts';
import { LIST } from './reads.ts';

const ANIMAL_COUNT = 1_000;
const CREATOR_CONNECTIONS = 8;
const NO_COMPILER = 'not measured: a slow fsync needs a C compiler and Linux';

export const CREATE: Load = {
  method: 'POST',
  paths: ['/v1/pets'],
  body: '{"name":"Rex","categoryId":7,"status":"available"}',
};

export async function measureCreate(bench: Bench): Promise<Row[]> {
  return [await compareCreates(bench, { what: 'create, durable', atLeast: 2 })];
}

export async function measureSlowCreate(bench: Bench): Promise<Row[]> {
  const what = 'create, durable, with an fsync of 5 ms';
  const environment = slowFsync(bench.folder, 5);
  if (environment === undefined) return [unmeasuredRow(what, 'at least 15 × typical', NO_COMPILER)];
  return [await compareCreates(bench, { what, atLeast: 15, environment })];
}

async function compareCreates(
  bench: Bench,
  options: { what: string; atLeast: number; environment?: Record<string, string> },
): Promise<Row> {
  const { what, atLeast, environment } = options;
  const serviceFolder = await bench.stores.folderWith(ANIMAL_COUNT);
  const otherFolder = await bench.stores.folderWith(ANIMAL_COUNT);
  const recipes = [petstore(serviceFolder), typical(storeFileOf(otherFolder))];
  const work = (...contenders: Contender[]) =>
    alternate(
      bench,
      what,
      contenders.map((contender) => ({ contender, load: CREATE })),
    );
  const [of, against] = await withContenders(bench, recipes, work, environment);
  return throughputRow({
    what,
    bound: { atLeast },
    unit: '× typical',
    of,
    against,
    keepsBusy: false,
  });
}

/** Compares the latency of lists with and without concurrent creates, on a slow disk. */
export async function measureInterference(bench: Bench): Promise<Row[]> {
  const what = 'p99 of lists during creates, with an fsync of 20 ms';
  const unit = '× p99 without creates';
  const environment = slowFsync(bench.folder, 20);
  if (environment === undefined) return [unmeasuredRow(what, `at most 2 ${unit}`, NO_COMPILER)];
  const folder = await bench.stores.folderWith(ANIMAL_COUNT);
  return withContenders(
    bench,
    [petstore(folder)],
    async (service) => {
      if (service === undefined) return [];
      const { generator, progress, rounds, roundSeconds: seconds, warmUpSeconds } = bench;
      await generator.run(service.url, LIST, { seconds: warmUpSeconds });
      const alone: LoadResult[] = [];
      const beside: LoadResult[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        progress.show(`${what}: round ${round} of ${rounds}`);
        alone.push(await generator.run(service.url, LIST, { seconds }));
        const [lists] = await Promise.all([
          generator.run(service.url, LIST, { seconds }),
          generator.run(service.url, CREATE, { seconds, connections: CREATOR_CONNECTIONS }),
        ]);
        beside.push(lists);
      }
      const figure = ratioFigure(p99sMs(beside), p99sMs(alone));
      const note = `${median(p99sMs(beside)).toFixed(2)} ms against ${median(p99sMs(alone)).toFixed(2)} ms`;
      return [newRow({ what, bound: { atMost: 2 }, unit, figure, note })];
    },
    environment,
  );
}

function p99sMs(results: readonly LoadResult[]): number[] {
  return results.map(({ p99Ms }) => p99Ms);
}
