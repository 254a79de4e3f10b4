import { storeFileOf } from '../animals.ts';
import { withContenders, type Bench, type Outcome } from '../bench.ts';
import { ANIMAL_COUNT, ownContender, petstore } from '../recipes.ts';
import { compareRates, untilDecided } from '../rounds.ts';
import { newRow, unmeasuredRow } from '../row.ts';
import { slowFsync } from '../slow-fsync.ts';

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
  const service = petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT));
  const fastify = { name: 'fastify-sqlite', script: 'fastify.ts', argument };
  const [of, against] = [service, ownContender(bench.key, fastify)].map((recipe) => ({
    recipe: { ...recipe, environment },
    load: recipe.load('create'),
  }));
  if (of === undefined || against === undefined) return {};
  return { rows: await compareRates(bench, [{ ...parts, of, against }]) };
}

const FSYNC_MS = 20;

/** Measures lists during creates on a slow disk. A list that waited for a commit would take longer than an fsync. */
export async function measureInterference(bench: Bench): Promise<Outcome> {
  const parts = {
    what: `p99 of lists during creates, with an fsync of ${FSYNC_MS} ms`,
    bound: { atMost: FSYNC_MS },
    unit: 'ms',
  };
  const environment = slowFsync(bench.folder, FSYNC_MS);
  if (environment === undefined) return { rows: [unmeasuredRow(parts, NO_COMPILER)] };
  const { key, stores, generator, roundSeconds: seconds, warmUpSeconds } = bench;
  const recipe = { ...petstore(key, await stores.folderWith(ANIMAL_COUNT)), environment };
  const [list, create] = [recipe.load('list'), recipe.load('create')];
  const [values = []] = await untilDecided(bench, parts.what, [parts.bound], () =>
    withContenders(bench, [recipe], async (service) => {
      const url = service?.url ?? '';
      await generator.run(url, list, { seconds: warmUpSeconds });
      const [lists] = await Promise.all([
        generator.run(url, list, { seconds }),
        generator.run(url, create, { seconds, connections: CREATOR_CONNECTIONS }),
      ]);
      return [lists.p99Ms];
    }),
  );
  return { rows: [newRow({ ...parts, values })] };
}
