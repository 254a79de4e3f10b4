// npm run bench [-- --quick] [NAME ...]: compares the service with other servers, and with its goals.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Progress } from '../src/cli/terminal.ts';
import { newSecret } from '../src/domain/api-key.ts';
import { Stores } from './animals.ts';
import type { Bench, Measurement } from './bench.ts';
import { findCores } from './cores.ts';
import { Generator } from './generator.ts';
import { GoPrograms } from './go.ts';
import { describeMachine } from './machine.ts';
import { measureAccessLog } from './measurements/access-log.ts';
import { measureCapacity } from './measurements/capacity.ts';
import { measureInterference, measureSlowCreate } from './measurements/disk.ts';
import { measureImport } from './measurements/import.ts';
import { OPERATION_MEASUREMENTS } from './measurements/operations.ts';
import { measureGrowth, measureMemory, measureStart } from './measurements/size.ts';
import { measureWorkers } from './measurements/workers.ts';
import { CalmWatch, reasonToRefuse } from './processes.ts';
import { benchmarksPage, capacityPage, textForTerminal } from './report.ts';
import { currentCommit, readResults, writeResults, type Results } from './results.ts';

const MEASUREMENTS: Measurement[] = [
  ...OPERATION_MEASUREMENTS,
  { name: 'workers', run: measureWorkers },
  { name: 'access-log', run: measureAccessLog },
  { name: 'growth', run: measureGrowth },
  { name: 'memory', run: measureMemory },
  { name: 'start', run: measureStart },
  { name: 'import', run: measureImport },
  { name: 'slow-create', run: measureSlowCreate },
  { name: 'interference', run: measureInterference },
  { name: 'capacity', run: measureCapacity },
];

/** How long the machine is watched before a run that writes. */
const WATCH_MS = 3_000;

const NAMES = MEASUREMENTS.map(({ name }) => name);
const HELP = `npm run bench -- [--quick] [--write] [--busy] [NAME ...], or --pages

  NAME     run only these measurements:
           ${NAMES.join(', ').replace(/(.{70,80}), /g, '$1,\n           ')}
  --quick  shorter rounds and smaller stores, for a first impression
  --write  write the measurements that were named into docs/benchmarks.md and docs/capacity.md;
           a run of all of them writes anyway, and a quick one never
  --busy   write even if other work runs on the machine
  --pages  measure nothing, and write the two documents again from bench/results.json
`;

async function main(args: string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(args);
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (options.isHelp) process.stdout.write(HELP);
  else if (options.isOnlyPages) write({});
  else return measureAndWrite(options);
  return 0;
}

type Options = ReturnType<typeof parseOptions>;

async function measureAndWrite(options: Options): Promise<number> {
  const { isQuick, isWriting, mayBeBusy, names } = options;
  const busy = isWriting && !mayBeBusy ? await reasonNotToStart() : undefined;
  if (busy !== undefined) {
    process.stderr.write(
      `bench: the machine is busy, ${busy}; wait, or give --busy to write anyway.\n`,
    );
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  try {
    const { measured, refused, hasFailed } = await run(newBench(folder, isQuick), names);
    process.stdout.write(textForTerminal(Object.values(measured)));
    if (!isWriting) return hasFailed ? 1 : 0;
    if (mayBeBusy) {
      for (const [name, disturbedBy] of refused)
        Object.assign(measured[name] ?? {}, { disturbedBy });
      refused.clear();
    }
    write(Object.fromEntries(Object.entries(measured).filter(([name]) => !refused.has(name))));
    for (const [name, reason] of refused) {
      process.stderr.write(`bench: ${name} was not written, because ${reason}.\n`);
    }
    return hasFailed || refused.size > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function parseOptions(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      busy: { type: 'boolean', default: false },
      pages: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`"${unknown}" is not a measurement.`);
  const isComplete = positionals.length === 0;
  return {
    isQuick: values.quick,
    isHelp: values.help,
    isOnlyPages: values.pages,
    isWriting: !values.quick && (isComplete || values.write),
    mayBeBusy: values.busy,
    names: isComplete ? NAMES : positionals,
  };
}

async function reasonNotToStart(): Promise<string | undefined> {
  const watch = new CalmWatch();
  await sleep(WATCH_MS);
  return reasonToRefuse(watch.read());
}

/** A measurement that fails does not end the run. `refused` says which figures are not to be published, and why. */
async function run(bench: Bench, names: readonly string[]) {
  const machine = describeMachine(bench.cores, bench.generator.name);
  const origin = { commit: currentCommit(), date: new Date().toISOString().slice(0, 10), machine };
  const measured: Results = {};
  const refused = new Map<string, string>();
  let hasFailed = false;
  for (const measurement of MEASUREMENTS.filter(({ name }) => names.includes(name))) {
    const { name } = measurement;
    const watch = new CalmWatch();
    try {
      const outcome = await measurement.run(bench);
      const reason = reasonToRefuse(watch.read());
      if (reason !== undefined) refused.set(name, reason);
      if (Object.keys(outcome).length > 0) measured[name] = { ...origin, ...outcome };
    } catch (error) {
      process.stderr.write(`\nbench: ${name} failed: ${(error as Error).stack}\n`);
      hasFailed = true;
    }
  }
  bench.progress.clear();
  return { measured, refused, hasFailed };
}

/** The other measurements stay as they were. Those that no longer exist go. */
function write(measured: Results): void {
  const all = { ...readResults(), ...measured };
  const results: Results = {};
  for (const name of NAMES) if (all[name] !== undefined) results[name] = all[name];
  writeResults(results);
  const benchmarks = new URL('../docs/benchmarks.md', import.meta.url);
  const capacity = new URL('../docs/capacity.md', import.meta.url);
  writeFileSync(benchmarks, benchmarksPage(results, readIfExists(benchmarks)));
  writeFileSync(capacity, capacityPage(results, readIfExists(capacity)));
}

function readIfExists(file: URL): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function newBench(folder: string, isQuick: boolean): Bench {
  const cores = findCores();
  return {
    isQuick,
    folder,
    key: newSecret('production', randomBytes),
    cores,
    generator: new Generator({ folder, cores: cores.generator }),
    stores: new Stores(folder),
    go: new GoPrograms(folder),
    progress: new Progress(process.stderr),
    rounds: isQuick ? 3 : 6,
    roundSeconds: isQuick ? 1 : 2,
    warmUpSeconds: isQuick ? 1 : 2,
  };
}

process.exitCode = await main(process.argv.slice(2));
