// npm run bench [-- --quick] [--busy] [--page]: compares the service with other servers, and with its goals, and writes
// docs/benchmarks.md. It needs Linux with two cores, wrk and taskset; Go for two contenders.

import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { newSecret } from '../src/domain/api-key.ts';
import {
  bare,
  fastify,
  go,
  petstore,
  pocketbase,
  recordResponses,
  start,
  type Contender,
  type Parts,
} from './contenders.ts';
import { OPERATIONS, requestsOf, uncachedGets } from './load.ts';
import { measure, type Plan, type Row } from './measure.ts';
import { benchmarksPage, type Results } from './page.ts';
import { machineTicks } from './processes.ts';
import { quantity } from './statistics.ts';
import { PostgresStores, SqliteStores } from './stores.ts';

const ANIMALS = 10_000;
const SMALL_ANIMALS = 1_000;
const LARGE_ANIMALS = 10_000_000;
const GIBIBYTE_BYTES = 1024 ** 3;
const WATCH_MS = 3_000;
/** Of the processor time, before the run begins. */
const BUSY_MAX = 0.1;
/** What decides about the figures. */
const MEASURED_PATHS = ['src', 'bin', 'bench', 'package-lock.json', ':!bench/results.json'];
const ROOT = join(import.meta.dirname, '..');
const RESULTS = new URL('./results.json', import.meta.url);
const PAGE = new URL('../docs/benchmarks.md', import.meta.url);

const { values: options } = parseArgs({
  options: {
    /** One short round, to try the program: nothing is written. */
    quick: { type: 'boolean', default: false },
    /** Measure although other work runs on the machine. */
    busy: { type: 'boolean', default: false },
    /** Measure nothing, and write the page again from bench/results.json. */
    page: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (options.page) {
    writeFileSync(PAGE, benchmarksPage(JSON.parse(readFileSync(RESULTS, 'utf8')) as Results));
    return;
  }
  requireTools();
  if (!options.busy) await requireCalm();
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  try {
    const results = await measureAll(folder);
    const page = benchmarksPage(results);
    process.stdout.write(page);
    if (options.quick) return;
    writeFileSync(RESULTS, `${JSON.stringify(results)}\n`);
    writeFileSync(PAGE, page);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function requireTools(): void {
  const missing = ['wrk', 'taskset'].filter((tool) => spawnSync(tool, ['-V']).error !== undefined);
  if (process.platform !== 'linux' || availableParallelism() < 2 || missing.length > 0) {
    throw new Error('the benchmark needs Linux with two cores, wrk and taskset');
  }
}

async function requireCalm(): Promise<void> {
  const before = machineTicks();
  await sleep(WATCH_MS);
  const after = machineTicks();
  const share = (after.busy - before.busy) / (after.total - before.total);
  if (share > BUSY_MAX) {
    const percent = Math.round(share * 100);
    throw new Error(`${percent} % of the machine is busy; wait, or give --busy to measure anyway`);
  }
}

async function measureAll(folder: string): Promise<Results> {
  const key = newSecret('production', randomBytes);
  const size = options.quick ? { starts: 1, rounds: 1 } : { starts: 3, rounds: 5 };
  const plan = { ...size, key, folder, report };
  const parts = { folder, key, animals: ANIMALS, sqlite: new SqliteStores(folder) };
  const missing: string[] = [];
  const before = machineTicks();
  report('building the contenders in Go, which may take minutes the first time');
  const inGo = await available([go, pocketbase], parts, missing);
  const pageBytes = await record(parts);
  const sqlite = await measure({
    ...plan,
    what: 'SQLite',
    contenders: [petstore(parts), bare(parts), fastify(parts), ...inGo],
    operations: OPERATION_REQUESTS,
  });
  const postgres = await onPostgres(plan, parts, missing);
  const growth = await grown(plan, parts);
  const after = machineTicks();
  const stolen = (after.stolen - before.stolen) / (after.total - before.total);
  return { origin: originOf(stolen), missing, pageBytes, sqlite, postgres, growth };
}

function report(step: string): void {
  process.stderr.write(`${String(Math.round(performance.now() / 1000)).padStart(5)} s  ${step}\n`);
}

const OPERATION_REQUESTS: Plan['operations'] = Object.fromEntries(
  OPERATIONS.map((name) => [name, ({ paths, animals }) => requestsOf(name, paths, animals)]),
);

type MakeContender = (parts: Parts) => Promise<Contender>;

/** Those that can be built here. `missing` says why another cannot. */
async function available(
  makers: readonly MakeContender[],
  parts: Parts,
  missing: string[],
): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const make of makers) {
    try {
      contenders.push(await make(parts));
    } catch (error) {
      const lastLine = (error as Error).message.trim().split('\n').at(-1) ?? '';
      missing.push(`${make.name}: ${lastLine}`);
    }
  }
  return contenders;
}

/** Records responses of the service. Returns the bytes of a page. */
async function record(parts: Parts): Promise<number> {
  const service = await start(petstore(parts), parts.key);
  try {
    return await recordResponses(service, parts);
  } finally {
    await service.stop();
  }
}

type Size = Omit<Plan, 'what' | 'contenders' | 'operations'>;

async function onPostgres(plan: Size, given: Parts, missing: string[]): Promise<Row[]> {
  let postgres: PostgresStores;
  try {
    postgres = await PostgresStores.start(ANIMALS);
  } catch (error) {
    missing.push(`PostgreSQL: ${(error as Error).message.split('\n')[0]}`);
    return [];
  }
  try {
    const parts = { ...given, postgres };
    return await measure({
      ...plan,
      what: 'PostgreSQL',
      contenders: [petstore(parts), fastify(parts), ...(await available([go], parts, missing))],
      operations: OPERATION_REQUESTS,
      databasePid: postgres.pid,
    });
  } finally {
    await postgres.server.close();
  }
}

/** Requests that find nothing in the cache, of a small and a large store. */
function grown(plan: Size, parts: Parts): Promise<Row[]> {
  const sizes = [SMALL_ANIMALS, options.quick ? ANIMALS : LARGE_ANIMALS];
  const contenders = sizes.map((animals) =>
    petstore({ ...parts, animals }, `${quantity(animals)} animals`),
  );
  const operations: Plan['operations'] = {
    'list by cursor': ({ paths, animals }) => requestsOf('list by cursor', paths, animals),
    get: ({ paths, animals }) => uncachedGets(paths, animals),
    create: ({ paths, animals }) => requestsOf('create', paths, animals),
  };
  return measure({ ...plan, what: 'growth', contenders, operations });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function originOf(stolen: number): string[] {
  const hasChanges = git('status', '--porcelain', '--', ...MEASURED_PATHS) !== '';
  const commit = `${git('rev-parse', '--short=10', 'HEAD')}${hasChanges ? ' with local changes' : ''}`;
  const memoryGib = Math.round(totalmem() / GIBIBYTE_BYTES);
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const origin = [
    `commit ${commit}, ${new Date().toISOString().slice(0, 10)}`,
    `${model}, ${availableParallelism()} cores, ${memoryGib} GiB, ${process.platform} ${process.arch}`,
    `Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'unknown'}`,
    `the host took ${Math.round(stolen * 100)} % of the processor time`,
  ];
  if (options.busy) origin.push('other work ran on the machine: rates and memory are worse for it');
  return origin;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
try {
  await main();
} catch (error) {
  process.stderr.write(`\nbench: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
