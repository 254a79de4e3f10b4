import type { Bench, Outcome } from '../bench.ts';
import { ANIMAL_COUNT, petstore } from '../recipes.ts';
import { compareCosts } from '../rounds.ts';

/** Compares two workers with one process, all their processes counted. */
export async function measureWorkers(bench: Bench): Promise<Outcome> {
  const runOf = async (settings: string[]) => {
    const recipe = petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT), settings);
    return { recipe, load: recipe.load('list') };
  };
  const goal = {
    what: 'list, repeated, 2 workers',
    bound: { atMost: 1.05 },
    unit: '× the cost of 1 worker',
    of: await runOf(['--workers', '2']),
    against: await runOf([]),
  };
  return { rows: await compareCosts(bench, [goal]) };
}
