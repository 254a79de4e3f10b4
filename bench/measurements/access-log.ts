import { join } from 'node:path';
import type { Bench, Outcome } from '../bench.ts';
import type { Operation } from '../contender.ts';
import { ANIMAL_COUNT, petstore } from '../recipes.ts';
import type { Row } from '../row.ts';
import { compareCosts } from '../rounds.ts';

const GOALS: [what: string, operation: Operation, atLeast: number][] = [
  ['list, repeated, with the access log', 'list', 0.65],
  ['create, durable, with the access log', 'create', 0.75],
];

/** Compares the service with its access log, which it writes to a file, with the service without one. */
export async function measureAccessLog(bench: Bench): Promise<Outcome> {
  const rows: Row[] = [];
  for (const [what, operation, atLeast] of GOALS) {
    const without = petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT));
    const withLog = {
      ...petstore(bench.key, await bench.stores.folderWith(ANIMAL_COUNT), ['--access-log', '-']),
      stdout: join(bench.folder, 'access.log'),
    };
    const load = without.load(operation);
    const goal = { of: { recipe: withLog, load }, against: { recipe: without, load } };
    const parts = { what, bound: { atLeast }, unit: '× without' };
    rows.push(...(await compareCosts(bench, [{ ...parts, ...goal }])));
  }
  return { rows };
}
