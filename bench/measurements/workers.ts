import { alternate, withContenders, type Bench, type Outcome } from '../bench.ts';
import { ANIMAL_COUNT, petstore } from '../recipes.ts';
import { compareCosts, costRatio, newRow } from '../row.ts';

/** Compares two workers with one process, all their processes counted. */
export async function measureWorkers(bench: Bench): Promise<Outcome> {
  const what = 'list, repeated, 2 workers';
  const recipes = [
    petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT), ['--workers', '2']),
    petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT)),
  ];
  const [two = [], one = []] = await withContenders(bench, recipes, (...contenders) =>
    alternate(
      bench,
      what,
      contenders.map((contender) => ({ contender, load: contender.recipe.load('list') })),
    ),
  );
  const row = newRow({
    what,
    bound: { atMost: 1.05 },
    unit: '× the cost of 1 worker',
    figure: costRatio(two, one),
    isByProcessorTime: true,
    note: compareCosts(two, one),
  });
  return { rows: [row] };
}
