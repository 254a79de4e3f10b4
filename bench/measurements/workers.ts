import { withContenders, type Bench, type Row } from '../bench.ts';
import { Contender } from '../contender.ts';
import type { LoadResult } from '../generator.ts';
import { petstore } from '../recipes.ts';
import { newRow, quantity, unmeasuredRow } from '../row.ts';
import { median, ratioFigure } from '../statistics.ts';
import { LIST } from './reads.ts';

const ANIMAL_COUNT = 1_000;
const WHAT = 'list, 2 workers on 2 cores';
const UNIT = '× 1 worker';
const TWO_WORKERS = 2;

/** Compares two workers on two cores with one. The generator needs a third core, or it slows the workers. */
export async function measureWorkers(bench: Bench): Promise<Row[]> {
  const target = `at least 1.60 ${UNIT}`;
  const cores = bench.cores.twoWorkers;
  if (cores === undefined) {
    const why = `not measured: with ${bench.cores.count} cores the generator would slow the workers`;
    return [unmeasuredRow(WHAT, target, why)];
  }
  const [oneFolder, twoFolder] = [
    await bench.stores.folderWith(ANIMAL_COUNT),
    await bench.stores.folderWith(ANIMAL_COUNT),
  ];
  return withContenders(bench, [petstore(oneFolder)], async (one) => {
    if (one === undefined) return [];
    const recipe = petstore(twoFolder, ['--workers', String(TWO_WORKERS)]);
    const two = await Contender.start(recipe, { key: bench.key, cores: cores.server });
    try {
      if (two.processCount() < TWO_WORKERS) {
        return [
          unmeasuredRow(WHAT, target, 'not measured: --workers did not start a second process'),
        ];
      }
      const options = { seconds: bench.roundSeconds, cores: cores.generator };
      const results: [LoadResult[], LoadResult[]] = [[], []];
      for (let round = 1; round <= bench.rounds; round += 1) {
        bench.progress.show(`${WHAT}: round ${round} of ${bench.rounds}`);
        results[0].push(await bench.generator.run(one.url, LIST, options));
        results[1].push(await bench.generator.run(two.url, LIST, options));
      }
      const [ofOne, ofTwo] = results.map((each) => each.map((result) => result.requestsPerSecond));
      const note = `${quantity(median(ofTwo ?? []))} against ${quantity(median(ofOne ?? []))} requests/s`;
      const figure = ratioFigure(ofTwo ?? [], ofOne ?? []);
      return [newRow({ what: WHAT, bound: { atLeast: 1.6 }, unit: UNIT, figure, note })];
    } finally {
      await two.stop();
    }
  });
}
