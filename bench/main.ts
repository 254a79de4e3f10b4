// npm run bench [-- --quick] [-- --only NAME]: compares the service with other servers, and with its targets.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Progress } from '../src/cli/terminal.ts';
import { newSecret } from '../src/domain/api-key.ts';
import { Stores } from './animals.ts';
import type { Bench, Measurement, Row } from './bench.ts';
import { chart } from './chart.ts';
import { findCores } from './cores.ts';
import { Generator } from './generator.ts';
import { describeMachine } from './machine.ts';
import { measureAccessLog } from './measurements/access-log.ts';
import { measureCreate, measureInterference, measureSlowCreate } from './measurements/creates.ts';
import { measureImport } from './measurements/import.ts';
import { measurePostgres } from './measurements/postgres.ts';
import { measureCursors, measureGet, measureList } from './measurements/reads.ts';
import { measureGrowth, measureMemory, measureStart } from './measurements/size.ts';
import { measureWorkers } from './measurements/workers.ts';
import { benchmarksPage, tableForTerminal } from './report.ts';

const MEASUREMENTS: Measurement[] = [
  { name: 'list', run: measureList },
  { name: 'cursors', run: measureCursors },
  { name: 'get', run: measureGet },
  { name: 'create', run: measureCreate },
  { name: 'slow-create', run: measureSlowCreate },
  { name: 'interference', run: measureInterference },
  { name: 'access-log', run: measureAccessLog },
  { name: 'memory', run: measureMemory },
  { name: 'start', run: measureStart },
  { name: 'growth', run: measureGrowth },
  { name: 'import', run: measureImport },
  { name: 'workers', run: measureWorkers },
  { name: 'postgres', run: measurePostgres },
];

const NAMES = MEASUREMENTS.map(({ name }) => name).join(', ');
const HELP = `npm run bench -- [--quick] [--only NAME ...]

  --quick      shorter rounds and smaller stores, for a first impression in under two minutes
  --only NAME  run only this measurement; can be repeated. The names are
               ${NAMES}

Only a complete run that is not quick writes docs/benchmarks.md.
`;

async function main(args: string[]): Promise<number> {
  let options: ReturnType<typeof parseOptions>;
  try {
    options = parseOptions(args);
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  const { isQuick, only, isHelp } = options;
  if (isHelp) {
    process.stdout.write(HELP);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  try {
    const bench = newBench(folder, isQuick);
    const machine = describeMachine(bench.cores, bench.generator.name);
    const rows: Row[] = [];
    for (const { name, run } of MEASUREMENTS) {
      if (only === undefined || only.includes(name)) rows.push(...(await run(bench)));
    }
    bench.progress.clear();
    process.stdout.write(tableForTerminal(rows, machine));
    // The page shows only complete and exact figures.
    if (only === undefined && !isQuick) writePage(rows, machine);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function parseOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      help: { type: 'boolean', default: false },
    },
  });
  const { quick: isQuick, only, help: isHelp } = values;
  const unknown = only?.find((name) => !MEASUREMENTS.some((each) => each.name === name));
  if (unknown !== undefined)
    throw new Error(`"${unknown}" is not a measurement: it must be one of ${NAMES}.`);
  return { isQuick, only, isHelp };
}

function writePage(rows: readonly Row[], machine: readonly string[]): void {
  const page = new URL('../docs/benchmarks.md', import.meta.url);
  const before = existsSync(page) ? readFileSync(page, 'utf8') : '';
  mkdirSync(new URL('.', page), { recursive: true });
  writeFileSync(page, benchmarksPage({ rows, machine, chartFile: 'benchmarks.svg', before }));
  writeFileSync(new URL('benchmarks.svg', page), chart(rows));
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
    rounds: isQuick ? 3 : 9,
    roundSeconds: isQuick ? 1 : 2,
    warmUpSeconds: isQuick ? 1 : 5,
  };
}

process.exitCode = await main(process.argv.slice(2));
