import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { SteadyClient } from './steady-client.ts';

const PROGRAM = 'slowhttptest';
const CONNECTIONS_PER_SECOND = 200;
/** How long the program waits before it sends the next few bytes. */
const FOLLOW_UP_SECONDS = 3;
const POLL_MS = 250;
/** How much later than its deadline a connection may be closed, on a machine that does other work too. */
const LATE_MS_MAX = 10_000;
/** Connections of the other client, which are not part of the attack. */
const OTHERS_MAX = 5;
/** The number of an established connection in /proc/net/tcp. */
const ESTABLISHED = '01';

interface Attack {
  name: string;
  path: string;
  deadlineMs: number;
  mode: '-H' | '-B' | '-X';
  options: (key: string) => Record<string, string | number>;
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'slow headers',
    path: '/v1/pets',
    deadlineMs: 10_000,
    mode: '-H',
    options: () => ({ i: FOLLOW_UP_SECONDS }),
  },
  {
    name: 'slow body',
    path: '/v1/pets',
    deadlineMs: 15_000,
    mode: '-B',
    options: (key) => ({
      i: FOLLOW_UP_SECONDS,
      t: 'POST',
      s: 8192,
      f: 'application/json',
      // The program has no option for other headers, but it sends the value of Accept as it is.
      m: `*/*\r\nAuthorization: Bearer ${key}`,
    }),
  },
  {
    name: 'slow read',
    path: '/openapi.json',
    deadlineMs: 70_000,
    mode: '-X',
    options: () => ({ k: 3, n: 5, z: 5, w: 1, y: 64 }),
  },
];

export const drill: Drill = {
  purpose:
    'slowhttptest sends headers and bodies slowly, and reads responses slowly: other clients are served, and each connection is closed by its deadline.',
  unit: 'connections per attack',
  rounds: 1_000,
  quickRounds: 100,
  isNamedOnly: true,
  findMissing: () =>
    spawnSync(PROGRAM, ['-h']).error === undefined ? undefined : 'slowhttptest is not installed',
  run,
  control: { brokenBy: 'a server without deadlines and with few connections', run: runControl },
};

async function run(options: DrillOptions): Promise<DrillReport> {
  await using folder = await temporaryFolder();
  const key = newSecret('production', randomBytes);
  const service = await ServiceProcess.start(['--data', folder.path], key);
  const reports: DrillReport[] = [];
  for (const attack of ATTACKS) {
    reports.push(await underAttack(service.baseUrl, key, attack, options));
  }
  const stopped = await service.stop();
  return {
    passed: reports.reduce((sum, { passed }) => sum + passed, 0),
    violations: [...reports.flatMap(({ violations }) => violations), ...stopped],
    figures: Object.assign({}, ...reports.map(({ figures }) => figures)) as Record<string, string>,
  };
}

async function runControl(options: DrillOptions): Promise<DrillReport> {
  const [attack] = ATTACKS;
  if (attack === undefined) throw new Error('no attack');
  const limits = { headersTimeout: 0, requestTimeout: 0 };
  const server = createServer(limits, (_request, response) => response.end('[]'));
  server.maxConnections = options.rounds / 2;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const report = await underAttack(`http://127.0.0.1:${port}/v1`, 'none', attack, options);
  server.closeAllConnections();
  server.close();
  return report;
}

async function underAttack(
  baseUrl: string,
  key: string,
  attack: Attack,
  { rounds, onProgress }: DrillOptions,
): Promise<DrillReport> {
  const { name, path, deadlineMs, mode, options } = attack;
  const connectingMs = (rounds / CONNECTIONS_PER_SECOND) * 1_000;
  const untilMs = performance.now() + connectingMs + deadlineMs + LATE_MS_MAX;
  const startedMs = performance.now();
  const other = new SteadyClient(baseUrl, key);
  const program = attackWith(mode, {
    ...options(key),
    c: rounds,
    r: CONNECTIONS_PER_SECOND,
    l: Math.ceil((untilMs - startedMs) / 1_000) + 5,
    u: new URL(path, baseUrl).href,
    v: 0,
  });
  const port = Number(new URL(baseUrl).port);
  let most = 0;
  let open = 0;
  do {
    await sleep(POLL_MS);
    open = countEstablished(port);
    most = Math.max(most, open);
    onProgress(`${name}: ${open} connections`);
  } while (
    performance.now() < untilMs &&
    (open > OTHERS_MAX || performance.now() < startedMs + connectingMs)
  );
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  await other.stop();
  const { requests, slowestMs, failures } = other;
  program.kill('SIGKILL');
  const violations = failures.map((failure) => `${name}: another client: ${failure}`);
  if (most < rounds / 2) violations.push(`${name}: only ${most} connections were opened`);
  if (open > OTHERS_MAX)
    violations.push(`${name}: ${open} connections are open after ${seconds} s`);
  const figures = {
    [`${name}, connections at once`]: most,
    [`${name}, all closed after (s)`]: open > OTHERS_MAX ? 'never' : seconds,
    [`${name}, requests of others`]: `${requests}, slowest ${slowestMs} ms`,
  };
  return { passed: requests - failures.length, violations, figures };
}

function attackWith(mode: string, options: Record<string, string | number>): ChildProcess {
  const flags = Object.entries(options).flatMap(([name, value]) => [`-${name}`, String(value)]);
  const program = spawn(PROGRAM, [mode, ...flags], { stdio: 'ignore' });
  process.once('exit', () => program.kill('SIGKILL'));
  return program;
}

/** How many connections to this port the program that listens there has open. */
function countEstablished(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address = '', , state]) => address.endsWith(local) && state === ESTABLISHED).length;
}
