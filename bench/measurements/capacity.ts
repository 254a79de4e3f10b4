import { statSync } from 'node:fs';
import { Client } from 'pg';
import { STATEMENTS } from '../../src/storage/postgres/statements.ts';
import { storeFileOf } from '../animals.ts';
import { withContenders, type Bench, type Outcome } from '../bench.ts';
import { Databases, NoPostgres } from '../databases.ts';
import type { Operation, Recipe } from '../contender.ts';
import { petstore } from '../recipes.ts';
import { wholeRound } from '../rounds.ts';
import { median } from '../statistics.ts';

const ANIMAL_COUNT = 1_000_000;
const QUICK_ANIMAL_COUNT = 100_000;
const LARGE_BATCH = 500;
const CREATES_PER_SIZE = 20_000;
const COMMITS_MAX = 1_000;
const COST_ROUNDS = 5;

/** Measures what the model of capacity needs and no other measurement has, all of it on PostgreSQL. */
export async function measureCapacity(bench: Bench): Promise<Outcome> {
  try {
    await using databases = await Databases.start();
    const count = bench.isQuick ? QUICK_ANIMAL_COUNT : ANIMAL_COUNT;
    const name = await databases.create();
    const url = databases.server.url(name);
    const recipe = {
      ...petstore(bench.key, bench.folder),
      environment: { DATABASE_URL: url },
      databasePid: databases.pid,
    };
    bench.progress.show('capacity: creating the animals');
    const responseBytes = await withContenders(bench, [recipe], async (service) => {
      await databases.fill(name, count);
      return sizeOfResponse(service?.url ?? '', bench.key);
    });
    const sizes = await sizesPerAnimal(bench, { databases, name, count });
    const list = await costsOf(bench, recipe, 'cursor');
    const create = await costsOf(bench, recipe, 'create');
    bench.progress.show('capacity: commits of 1 and of 500 creates');
    const commits = await measureCommits(url);
    const costs = {
      listProcessMicroseconds: list.process,
      listDatabaseMicroseconds: list.database,
      createProcessMicroseconds: create.process,
      createDatabaseMicroseconds: create.database,
    };
    return { factors: { ...sizes, responseBytes, ...costs, ...commits } };
  } catch (error) {
    if (error instanceof NoPostgres) return {};
    throw error;
  }
}

/** The median processor time per request, of the process and of PostgreSQL. */
async function costsOf(bench: Bench, recipe: Recipe, operation: Operation) {
  const [totals, databases]: [number[], number[]] = [[], []];
  for (let round = 1; round <= COST_ROUNDS; round += 1) {
    bench.progress.show(`capacity: ${operation} on PostgreSQL, round ${round} of ${COST_ROUNDS}`);
    const [run] = await wholeRound(bench, [{ recipe, load: recipe.load(operation) }]);
    if (run?.processor === undefined) continue;
    totals.push(run.processor.total / run.requests);
    databases.push(run.processor.database / run.requests);
  }
  return { process: median(totals) - median(databases), database: median(databases) };
}

async function sizesPerAnimal(
  bench: Bench,
  parts: { databases: Databases; name: string; count: number },
): Promise<Record<string, number>> {
  const { databases, name, count } = parts;
  const sql = `SELECT pg_table_size('pets'), pg_indexes_size('pets')`;
  const [sizes = []] = await databases.server.query(sql, name);
  const folder = await bench.stores.folderWith(count);
  const file = statSync(storeFileOf(folder)).size;
  bench.stores.remove(folder);
  return {
    sqliteBytesPerAnimal: file / count,
    tableBytesPerAnimal: Number(sizes[0]) / count,
    indexBytesPerAnimal: Number(sizes[1]) / count,
  };
}

async function sizeOfResponse(url: string, key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/pets`, { headers });
  const head = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return 'HTTP/1.1 200 OK\r\n\r\n'.length + head.length + (await response.arrayBuffer()).byteLength;
}

/**
 * Sends the statement of a batch on one connection, with one create and with 500. Both the time and the bytes of
 * the log are a part per commit and a part per create, which the two sizes tell apart.
 */
async function measureCommits(url: string): Promise<Record<string, number>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await commitBatches(client, 1);
    const [one, many] = [await commitBatches(client, 1), await commitBatches(client, LARGE_BATCH)];
    const perCreate = (of: 'ms' | 'walBytes') => (many[of] - one[of]) / (LARGE_BATCH - 1);
    return {
      createMs: perCreate('ms'),
      commitMs: one.ms - perCreate('ms'),
      createWalBytes: perCreate('walBytes'),
      commitWalBytes: one.walBytes - perCreate('walBytes'),
    };
  } finally {
    await client.end();
  }
}

/** Returns the time and the bytes of the log per commit. */
async function commitBatches(client: Client, size: number) {
  const commits = Math.min(COMMITS_MAX, CREATES_PER_SIZE / size);
  const repeated = <Value>(value: Value) => Array.from({ length: size }, () => value);
  const values = [repeated('Rex'), repeated(7), repeated('available'), 0];
  const walBytes = async () => {
    const sql = `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes`;
    return Number((await client.query<{ bytes: string }>(sql)).rows[0]?.bytes);
  };
  const [bytesBefore, startedMs] = [await walBytes(), performance.now()];
  for (let commit = 0; commit < commits; commit += 1) {
    await client.query({ ...STATEMENTS.createPets, values });
  }
  const ms = (performance.now() - startedMs) / commits;
  return { ms, walBytes: ((await walBytes()) - bytesBefore) / commits };
}
