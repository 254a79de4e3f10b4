import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { run } from '../../test/support/test-process.ts';
import { checkOut, type OlderVersion } from '../catalogue/older-version.ts';
import { Client } from '../client.ts';
import { ServiceProcess } from '../service-process.ts';
import type { Random } from '../random.ts';
import { BalancedLoad, type Created } from './balanced-load.ts';

export const VERSIONS: readonly OlderVersion[] = ['1.0.0', '1.1.0'];
const PROCESSES = 2;
/** How long the load runs with each set of processes. */
const LOAD_MS = 1_500;
const REPEATED_MAX = 50;

export interface UpgradeOptions {
  rounds: number;
  random: Random;
  /** Ends a process of the older version while the other one serves. */
  end: (process: ServiceProcess, load: BalancedLoad) => Promise<string[]>;
  onProgress: (text: string) => void;
}

export interface UpgradeReport {
  rounds: number;
  requests: number;
  creates: number;
  /** Creates of the older version that were sent again to this one. */
  repeated: number;
  slowestMs: number;
  violations: string[];
}

/** Takes the process out of the balancer, waits for its requests, and stops it. */
export async function drain(process: ServiceProcess, load: BalancedLoad): Promise<string[]> {
  await load.remove(process.baseUrl);
  return process.stop();
}

/** Kills the process while the balancer still uses it. */
export async function kill(process: ServiceProcess, load: BalancedLoad): Promise<string[]> {
  process.signal('SIGKILL');
  await sleep(LOAD_MS);
  await load.remove(process.baseUrl);
  return [];
}

/** Replaces two processes of each older version by this one, one after the other, under load. */
export async function drillUpgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const report = { rounds: 0, requests: 0, creates: 0, repeated: 0, slowestMs: 0, violations: [] };
  options.onProgress('installing the older versions');
  const programs = VERSIONS.map((version) => checkOut(version, { isServing: true }));
  const server = await PostgresServer.start({ isDurable: true });
  try {
    for (let round = 1; round <= options.rounds; round += 1) {
      options.onProgress(`round ${round} of ${options.rounds}`);
      for (const older of programs) {
        const database = await server.createDatabase();
        await runRound({ ...options, server, database, older, report });
      }
      report.rounds += 1;
    }
    return report;
  } finally {
    await server.close();
  }
}

interface Round extends UpgradeOptions {
  server: PostgresServer;
  database: string;
  older: string;
  report: UpgradeReport;
}

async function runRound(round: Round): Promise<void> {
  const { server, database, older, report, random, end } = round;
  const key = newSecret('production', randomBytes);
  const flags = ['--database', server.url(database), '--log', 'fatal'];
  const before = [];
  while (before.length < PROCESSES) before.push(await ServiceProcess.start(flags, key, older));
  const load = new BalancedLoad(key, random);
  for (const { baseUrl } of before) load.add(baseUrl);
  load.start();
  await sleep(LOAD_MS);
  const createdBefore = [...load.created];
  const after: ServiceProcess[] = [];
  for (const process of before) {
    report.violations.push(...(await end(process, load)));
    const next = await ServiceProcess.start(flags, key);
    load.add(next.baseUrl);
    after.push(next);
    await sleep(LOAD_MS);
  }
  await load.stop();
  report.requests += load.requests;
  report.creates += load.created.length;
  report.slowestMs = Math.max(report.slowestMs, load.slowestMs);
  report.violations.push(...load.failures);
  report.violations.push(...(await checkStored(round, load.created)));
  await repeatCreates(report, createdBefore, { baseUrl: after[0]?.baseUrl ?? '', key });
  for (const process of after) report.violations.push(...(await process.stop()));
  report.violations.push(...(await checkKeyUse(round)));
  report.violations.push(...(await checkOlderRefuses(older, flags)));
}

async function checkStored(
  { server, database }: Round,
  created: readonly Created[],
): Promise<string[]> {
  const rows = (await server.query('SELECT id, name FROM pets', database)) as [string, string][];
  const stored = new Map(rows.map(([id, name]) => [Number(id), name]));
  const missing = created.filter(({ id, name }) => stored.get(id) !== name).length;
  const twice = rows.length - new Set(rows.map(([, name]) => name)).size;
  const verified = await run(['verify', '--database', server.url(database)]);
  return [
    ...(missing > 0 ? [`${missing} acknowledged animals are not in the store`] : []),
    ...(twice > 0 ? [`${twice} animals are in the store twice`] : []),
    ...(verified.code === 0 ? [] : [`verify: ${verified.stdout}${verified.stderr}`]),
  ];
}

/** The load calls the deprecated operation too, and this version records the last call. */
async function checkKeyUse({ server, database }: Round): Promise<string[]> {
  const rows = await server.query('SELECT last_deprecated_call_at FROM api_keys', database);
  return rows.every(([at]) => at !== null) ? [] : ['the last deprecated call is not recorded'];
}

/** This version must know the idempotency keys that the older one has stored. */
async function repeatCreates(
  report: UpgradeReport,
  created: readonly Created[],
  { baseUrl, key }: { baseUrl: string; key: string },
): Promise<void> {
  const client = new Client(key);
  for (const { id, name, isClaimed } of created.slice(-REPEATED_MAX)) {
    if (!isClaimed) continue;
    const { body } = await client.create(baseUrl, name, { isClaimed });
    report.repeated += 1;
    if ((JSON.parse(body) as { id: number }).id !== id) {
      report.violations.push(`the repeated create of ${name} got ${body} instead of ${id}`);
    }
  }
  client.close();
}

async function checkOlderRefuses(older: string, flags: string[]): Promise<string[]> {
  const command = [process.execPath, older] as const;
  const { code, stderr } = await run(['keys', 'list', ...flags.slice(0, 2)], { command });
  const isRefused = code === 2 && /^[^\n]*newer[^\n]*\n$/.test(stderr);
  return isRefused ? [] : [`the older version ended with ${code} on the new schema: ${stderr}`];
}
