import { join } from 'node:path';
import { alternate, withContenders, type Bench, type Row } from '../bench.ts';
import type { Load } from '../generator.ts';
import { petstore } from '../recipes.ts';
import { throughputRow } from '../row.ts';
import { CREATE } from './creates.ts';
import { LIST } from './reads.ts';

const ANIMAL_COUNT = 1_000;

const LOADS: [what: string, load: Load, bound: { atLeast: number }, keepsBusy: boolean][] = [
  ['list, default page, repeated', LIST, { atLeast: 0.65 }, true],
  ['create, durable', CREATE, { atLeast: 0.75 }, false],
];

/** Compares the service with its access log, which it writes to a file, with the service without one. */
export async function measureAccessLog(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [load, sent, bound, keepsBusy] of LOADS) {
    const what = `${load}, with the access log`;
    const [withLog, without] = [
      petstore(await bench.stores.folderWith(ANIMAL_COUNT), ['--access-log', '-']),
      petstore(await bench.stores.folderWith(ANIMAL_COUNT)),
    ];
    const recipes = [{ ...withLog, stdout: join(bench.folder, 'access.log') }, without];
    const [of, against] = await withContenders(bench, recipes, (...contenders) =>
      alternate(
        bench,
        what,
        contenders.map((contender) => ({ contender, load: sent })),
      ),
    );
    rows.push(throughputRow({ what, bound, unit: '× without', of, against, keepsBusy }));
  }
  return rows;
}
