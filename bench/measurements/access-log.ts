import { join } from 'node:path';
import { alternate, withContenders, type Bench, type Outcome } from '../bench.ts';
import type { Operation } from '../contender.ts';
import { ANIMAL_COUNT, petstore } from '../recipes.ts';
import { costRatio, newRow, type Row } from '../row.ts';
import { inverse } from '../statistics.ts';

const GOALS: [what: string, operation: Operation, atLeast: number][] = [
  ['list, repeated, with the access log', 'list', 0.65],
  ['create, durable, with the access log', 'create', 0.75],
];

/** Compares the service with its access log, which it writes to a file, with the service without one. */
export async function measureAccessLog(bench: Bench): Promise<Outcome> {
  const rows: Row[] = [];
  for (const [what, operation, atLeast] of GOALS) {
    const [withLog, without] = [
      petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT), ['--access-log', '-']),
      petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT)),
    ];
    const recipes = [{ ...withLog, stdout: join(bench.folder, 'access.log') }, without];
    const [of = [], against = []] = await withContenders(bench, recipes, (...contenders) =>
      alternate(
        bench,
        what,
        contenders.map((contender) => ({ contender, load: contender.recipe.load(operation) })),
      ),
    );
    const figure = inverse(costRatio(of, against));
    const isByProcessorTime = true;
    rows.push(newRow({ what, bound: { atLeast }, unit: '× without', figure, isByProcessorTime }));
  }
  return { rows };
}
