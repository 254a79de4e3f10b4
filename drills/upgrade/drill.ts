import { setTimeout as sleep } from 'node:timers/promises';
import { needs } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { run as runCommand } from '../../harness/command.ts';
import { drillLinearizability } from '../linearizability/drill.ts';
import { checkOut, isInHistory, RELEASES } from '../../harness/older-version.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { newRandom } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { mergeReports } from '../stores.ts';

const CLIENTS = 10;
/** How long the load runs with each set of processes. */
const LOAD_MS = 1_500;
const PAUSE_MS = 5;
const REPEATED = 50;
/** Histories of the drill `linearizability` per round, beside a process of the oldest version. */
const HISTORIES_PER_ROUND = 10;

export const drill: Drill = {
  promise:
    'An upgrade from version 1.0.0 or 1.1.0 fails no request and loses nothing, and meanwhile reads through the older version see the changes of this one.',
  method:
    'Two processes of the older version on PostgreSQL are replaced one after the other under load; older creates are repeated on this version. Then the drill `linearizability` runs with one process of version 1.0.0 beside three of this version.',
  unit: 'rounds',
  rounds: 5,
  quickRounds: 1,
  findMissing: () => needs('the whole history: git fetch --unshallow', RELEASES.every(isInHistory)),
  run: async (options) => {
    const rounds = options.rounds * HISTORIES_PER_ROUND;
    const olderMain = checkOut('1.0.0', { isServing: true });
    const stores = ['PostgreSQL'] as const;
    return mergeReports({
      upgrade: await run(options, drain),
      'beside 1.0.0': await drillLinearizability({ ...options, rounds, stores, olderMain }),
    });
  },
  control: {
    brokenBy: 'a process that is killed while the balancer uses it',
    finds: [' failed: '],
    run: (options) => run(options, kill),
  },
};

/** Ends a process of the older version while the other one serves. */
type End = (process: ServiceProcess, balancer: Balancer) => Promise<string[]>;

/** Clients behind a balancer, which sends each request to one of the processes that it knows. */
interface Balancer {
  load: Load;
  members: Set<string>;
}

/** Takes the process out of the balancer, waits for its requests, and stops it. */
const drain: End = async (process, { load, members }) => {
  members.delete(process.baseUrl);
  await load.untilIdle(process.baseUrl);
  return process.stop();
};

/** Kills the process while the balancer still uses it. */
const kill: End = async (process, { members }) => {
  process.signal('SIGKILL');
  await sleep(LOAD_MS);
  members.delete(process.baseUrl);
  return [];
};

async function run(options: DrillOptions, end: End): Promise<DrillReport> {
  const { rounds, onProgress } = options;
  onProgress('installing the older versions');
  const programs = RELEASES.map((version) => checkOut(version, { isServing: true }));
  const server = await PostgresServer.start({ isDurable: true });
  const totals = { requests: 0, creates: 0, repeated: 0, slowestMs: 0 };
  const violations: string[] = [];
  try {
    for (let round = 1; round <= rounds; round += 1) {
      onProgress(`round ${round} of ${rounds}`);
      for (const older of programs) {
        const name = await server.createDatabase();
        const load = await upgrade({ server, name, older, end, seed: options.seed + round });
        violations.push(...load.violations);
        totals.requests += load.counts.requests;
        totals.creates += load.creates.acknowledged.size;
        totals.repeated += load.counts.repeated;
        totals.slowestMs = Math.max(totals.slowestMs, load.counts.slowestMs);
      }
    }
  } finally {
    await server.close();
  }
  return {
    passed: totals.requests - violations.length,
    violations,
    figures: {
      requests: totals.requests,
      'creates acknowledged': totals.creates,
      'older creates repeated on this version': totals.repeated,
      'slowest request (ms)': totals.slowestMs,
    },
  };
}

interface Upgrade {
  server: PostgresServer;
  /** The name of an empty database. */
  name: string;
  /** The program of the older version. */
  older: string;
  end: End;
  seed: number;
}

/** Replaces two processes by this version, one after the other, under load. */
async function upgrade({ server, name, older, end, seed }: Upgrade): Promise<Load> {
  const random = newRandom(seed);
  const database = server.url(name);
  const first = await ServiceProcess.start({ database, main: older });
  const { key } = first;
  const before = [first, await ServiceProcess.start({ database, key, main: older })];
  const members = new Set(before.map(({ baseUrl }) => baseUrl));
  const baseUrl = () => random.pick([...members]);
  const load = new Load({ key, baseUrl, createEvery: 2, unclaimedEvery: 2, pauseMs: PAUSE_MS });
  const { violations } = load;
  load.start(CLIENTS);
  await sleep(LOAD_MS);
  const after: ServiceProcess[] = [];
  for (const process of before) {
    violations.push(...(await end(process, { load, members })));
    const next = await ServiceProcess.start({ database, key });
    // This version must know the idempotency keys that the older one has stored.
    await load.repeat(next.baseUrl, load.creates.sample(REPEATED, random));
    members.add(next.baseUrl);
    after.push(next);
    await sleep(LOAD_MS);
  }
  await load.stop();
  await load.compare(after[0]?.baseUrl ?? '');
  for (const process of after) violations.push(...(await process.stop()));
  const verified = await runCommand(['verify', '--database', database]);
  if (verified.code !== 0) violations.push(`verify: ${verified.stdout}${verified.stderr}`);
  // The load calls the deprecated operation too, and this version records the last call.
  const uses = await server.query('SELECT last_deprecated_call_at FROM api_keys', name);
  if (uses.some(([at]) => at === null)) violations.push('a deprecated call is not recorded');
  violations.push(...(await requireRefusal(older, database)));
  return load;
}

/** The older version must not use the new schema. */
async function requireRefusal(older: string, database: string): Promise<string[]> {
  const command = [process.execPath, older] as const;
  const { code, stderr } = await runCommand(['keys', 'list', '--database', database], { command });
  const isRefused = code === 2 && /^[^\n]*newer[^\n]*\n$/.test(stderr);
  return isRefused ? [] : [`the older version ended with ${code} on the new schema: ${stderr}`];
}
