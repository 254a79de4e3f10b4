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
import type { Bench } from './bench.ts';
import { findCores } from './cores.ts';
import { Generator } from './generator.ts';
import { GoProgram } from './go.ts';
import { describeMachine } from './machine.ts';
import { MEASUREMENTS } from './measurements/all.ts';
import { CalmWatch, reasonToRefuse } from './processes.ts';
import { benchmarksPage, capacityPage, textForTerminal } from './report.ts';
import { currentCommit, readResults, writeResults, type Results } from './results.ts';
import { ROUNDS_MAX } from './statistics.ts';

/** How long the machine is watched before a run that writes. */
const WATCH_MS = 3_000;
const MINUTE_MS = 60_000;

/** The fewest that can decide. */
const QUICK_ROUNDS_MAX = 7;

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
  if (options.isHelp) {
    process.stdout.write(HELP);
    return 0;
  }
  let before: Results;
  try {
    before = readResults();
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n`);
    return 1;
  }
  if (!options.isOnlyPages) return measureAndWrite(options, before);
  write(before, {});
  return 0;
}

type Options = ReturnType<typeof parseOptions>;

async function measureAndWrite(options: Options, before: Results): Promise<number> {
  const { isQuick, isWriting, mayBeBusy, names } = options;
  const busy = isWriting && !mayBeBusy ? await reasonNotToStart() : undefined;
  if (busy !== undefined) {
    process.stderr.write(
      `bench: the machine is busy, ${busy}; wait, or give --busy to write anyway.\n`,
    );
    return 1;
  }
  process.stderr.write(`bench: ${estimateOf(names, before)}.\n`);
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
    write(
      before,
      Object.fromEntries(Object.entries(measured).filter(([name]) => !refused.has(name))),
    );
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

/** The last run tells how long each measurement takes, as far as it is known. */
function estimateOf(names: readonly string[], before: Results): string {
  const chosen = MEASUREMENTS.filter(({ name }) => names.includes(name));
  const most = chosen.reduce((sum, { minutesMax }) => sum + minutesMax, 0);
  const usual = chosen.reduce(
    (sum, { name, minutesMax }) => sum + Math.min(before[name]?.minutes ?? minutesMax, minutesMax),
    0,
  );
  const count = chosen.length === 1 ? '1 measurement' : `${chosen.length} measurements`;
  return `${count}, about ${Math.ceil(usual)} minutes; no round starts after ${Math.ceil(most)}`;
}

/** A measurement that fails does not end the run. `refused` says which figures are not to be published, and why. */
async function run(bench: Bench, names: readonly string[]) {
  const machine = describeMachine(bench.cores, bench.generator);
  const origin = { commit: currentCommit(), date: new Date().toISOString().slice(0, 10), machine };
  const measured: Results = {};
  const refused = new Map<string, string>();
  let hasFailed = false;
  for (const measurement of MEASUREMENTS.filter(({ name }) => names.includes(name))) {
    const { name, minutesMax } = measurement;
    const watch = new CalmWatch();
    const startedMs = performance.now();
    bench.progress.show(`${name}, at most ${minutesMax} minutes`);
    try {
      const deadlineMs = startedMs + minutesMax * MINUTE_MS;
      const outcome = await measurement.run({ ...bench, deadlineMs });
      const minutes = Math.round((10 * (performance.now() - startedMs)) / MINUTE_MS) / 10;
      const reason = reasonToRefuse(watch.read());
      if (reason !== undefined) refused.set(name, reason);
      if (Object.keys(outcome).length > 0) measured[name] = { ...origin, minutes, ...outcome };
    } catch (error) {
      process.stderr.write(`\nbench: ${name} failed: ${(error as Error).stack}\n`);
      hasFailed = true;
    }
  }
  bench.progress.clear();
  return { measured, refused, hasFailed };
}

/** The other measurements stay as they were. Those that no longer exist go. */
function write(before: Results, measured: Results): void {
  const all = { ...before, ...measured };
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
    go: new GoProgram(folder),
    progress: new Progress(process.stderr),
    roundsMax: isQuick ? QUICK_ROUNDS_MAX : ROUNDS_MAX,
    deadlineMs: Number.POSITIVE_INFINITY,
    slices: isQuick ? 15 : 30,
    roundSeconds: isQuick ? 1 : 2,
    warmUpSeconds: 1,
  };
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
process.exitCode = await main(process.argv.slice(2));
