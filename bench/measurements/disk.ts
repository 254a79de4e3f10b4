import { storeFileOf } from '../animals.ts';
import { alternate, withContenders, type Bench, type Outcome } from '../bench.ts';
import type { LoadResult } from '../generator.ts';
import { ANIMAL_COUNT, ownContender, petstore } from '../recipes.ts';
import { compareRates, newRow, rateRatio, unmeasuredRow } from '../row.ts';
import { slowFsync } from '../slow-fsync.ts';
import { median, ratioFigure } from '../statistics.ts';

const CREATOR_CONNECTIONS = 8;
const NO_COMPILER = 'a slow fsync needs a C compiler and Linux';

/** Compares creates on a slow disk, where it matters that they share commits. */
export async function measureSlowCreate(bench: Bench): Promise<Outcome> {
  const parts = {
    what: 'create, durable, with an fsync of 5 ms',
    bound: { atLeast: 15 },
    unit: '× fastify-sqlite',
  };
  const environment = slowFsync(bench.folder, 5);
  if (environment === undefined) return { rows: [unmeasuredRow(parts, NO_COMPILER)] };
  const argument = storeFileOf(await bench.stores.folderWith(ANIMAL_COUNT));
  const recipes = [
    petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT)),
    ownContender(bench.key, { name: 'fastify-sqlite', script: 'fastify.ts', argument }),
  ];
  const [of = [], against = []] = await withContenders(
    bench,
    recipes,
    (...contenders) =>
      alternate(
        bench,
        parts.what,
        contenders.map((contender) => ({ contender, load: contender.recipe.load('create') })),
      ),
    environment,
  );
  const note = compareRates(of, against);
  return { rows: [newRow({ ...parts, figure: rateRatio(of, against), note })] };
}

/** Compares the latency of lists with and without concurrent creates, on a slow disk. */
export async function measureInterference(bench: Bench): Promise<Outcome> {
  const parts = {
    what: 'p99 of lists during creates, with an fsync of 20 ms',
    bound: { atMost: 2 },
    unit: '× p99 without creates',
  };
  const environment = slowFsync(bench.folder, 20);
  if (environment === undefined) return { rows: [unmeasuredRow(parts, NO_COMPILER)] };
  const recipe = petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT));
  const [list, create] = [recipe.load('list'), recipe.load('create')];
  const [alone, beside] = await withContenders(
    bench,
    [recipe],
    async (service) => {
      const measured: [LoadResult[], LoadResult[]] = [[], []];
      if (service === undefined) return measured;
      const { generator, progress, rounds, roundSeconds: seconds, warmUpSeconds } = bench;
      await generator.run(service.url, list, { seconds: warmUpSeconds });
      for (let round = 1; round <= rounds; round += 1) {
        progress.show(`${parts.what}: round ${round} of ${rounds}`);
        measured[0].push(await generator.run(service.url, list, { seconds }));
        const [lists] = await Promise.all([
          generator.run(service.url, list, { seconds }),
          generator.run(service.url, create, { seconds, connections: CREATOR_CONNECTIONS }),
        ]);
        measured[1].push(lists);
      }
      return measured;
    },
    environment,
  );
  const figure = ratioFigure(p99sMs(beside), p99sMs(alone));
  const note = `${median(p99sMs(beside)).toFixed(2)} ms against ${median(p99sMs(alone)).toFixed(2)} ms`;
  return { rows: [newRow({ ...parts, figure, note })] };
}

function p99sMs(results: readonly LoadResult[]): number[] {
  return results.map(({ p99Ms }) => p99Ms);
}
