// npm run bench [-- --quick] [-- --only NAME]: measures the service against what it could be.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { newSecret } from '../src/domain/api-key.ts';
import { Stores } from './animals.ts';
import type { Bench, Measurement, Row } from './bench.ts';
import { findCores } from './cores.ts';
import { Generator } from './generator.ts';
import { describeMachine } from './machine.ts';
import { measureCreate, measureInterference, measureSlowCreate } from './measurements/creates.ts';
import { measureCursors, measureGet, measureList } from './measurements/reads.ts';
import { measureGrowth, measureMemory, measureStart } from './measurements/size.ts';
import { Progress } from './progress.ts';
import { tableForTerminal } from './report.ts';

const MEASUREMENTS: Measurement[] = [
  { name: 'list', run: measureList },
  { name: 'cursors', run: measureCursors },
  { name: 'get', run: measureGet },
  { name: 'create', run: measureCreate },
  { name: 'slow-create', run: measureSlowCreate },
  { name: 'interference', run: measureInterference },
  { name: 'memory', run: measureMemory },
  { name: 'start', run: measureStart },
  { name: 'growth', run: measureGrowth },
];

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { quick: { type: 'boolean' }, only: { type: 'string', multiple: true } },
  });
  const { quick: isQuick = false, only } = values;
  const unknown = only?.find((name) => !MEASUREMENTS.some((each) => each.name === name));
  if (unknown !== undefined) {
    const names = MEASUREMENTS.map(({ name }) => name).join(', ');
    process.stderr.write(`bench: there is no measurement "${unknown}"; there are ${names}.\n`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  try {
    const bench = newBench(folder, isQuick);
    const rows: Row[] = [];
    for (const { name, run } of MEASUREMENTS) {
      if (only === undefined || only.includes(name)) rows.push(...(await run(bench)));
    }
    bench.progress.clear();
    process.stdout.write(
      tableForTerminal(rows, describeMachine(bench.cores, bench.generator.name)),
    );
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function newBench(folder: string, isQuick: boolean): Bench {
  const key = newSecret('production', randomBytes);
  const cores = findCores();
  return {
    isQuick,
    folder,
    key,
    cores,
    generator: new Generator({ folder, key, cores: cores.generator }),
    stores: new Stores(folder),
    progress: new Progress(process.stderr),
    rounds: isQuick ? 3 : 7,
    roundSeconds: isQuick ? 1 : 3,
    warmUpSeconds: isQuick ? 1 : 3,
  };
}

process.exitCode = await main(process.argv.slice(2));
