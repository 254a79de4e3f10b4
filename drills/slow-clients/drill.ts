import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { mergeReports } from '../stores.ts';
import { LegalClients, type Moment } from './legal-clients.ts';

const ATTACKERS = fileURLToPath(new URL('../../harness/attackers.ts', import.meta.url));
const MEMORY_USAGE = fileURLToPath(new URL('./memory-usage.ts', import.meta.url));
const SLOWHTTPTEST = 'slowhttptest';
const SLOWHTTPTEST_PER_SECOND = 200;
/** How long slowhttptest waits before it sends the next few bytes. */
const FOLLOW_UP_SECONDS = 3;
const MEASURED_MS = 6_000;
const POLL_MS = 100;
/** Legal requests may take three times as long as before. */
const SLOWER_MAX = 3;
/**
 * How much more memory may be in use after the attacks, without garbage. The process keeps far more: what is free in
 * the heap, and what the allocator of the system does not give back, which one arena does not change.
 */
const KEPT_MIB_MAX = 64;
const MIXED_MS_MAX = 20_000;
/** For 10,000 connections: idle ones alone need 100 to 150 MiB. */
const PEAK_MIB_MAX = 512;

/** The time begins when the service accepts a connection, which is later on a busy machine. */
const LATE_MS_MAX = 20_000;

/**
 * By when the service must have closed the sockets: a request must be complete within 15 s, its head within 10 s,
 * and a connection without a moved byte is closed after at most 70 s.
 */
const CLOSED_MS_MAX = {
  drip: 15_000,
  abort: 0,
  'never-read': 70_000,
  forge: 0,
  /** Bodies in chunks of one byte, long bodies, pipelined requests and unread responses, with and without a key. */
  mix: 15_000,
  'slow headers': 10_000,
  'slow body': 15_000,
  'slow read': 70_000,
} as const;
type Attack = keyof typeof CLOSED_MS_MAX;

/** The attacks of slowhttptest, and its arguments for each. */
const SLOWHTTPTEST_FLAGS: Partial<Record<Attack, string>> = {
  'slow headers': `-H -i ${FOLLOW_UP_SECONDS}`,
  'slow body': `-B -i ${FOLLOW_UP_SECONDS} -t POST -s 8192 -f application/json`,
  'slow read': '-X -k 3 -n 5 -z 5 -w 1 -y 64',
};

/** With fewer sockets the drill is short: it does not wait 70 s for clients that never read. */
const COMPLETE_MIN = 1_000;
const SHORT = { measuredMs: 2_000, lateMsMax: 8_000 };
const FORGERS = 20;

export const drill: Drill = {
  promise:
    'Slow and greedy clients do not slow down others, their sockets are closed by a deadline, and whatever strangers send, memory is limited and returns.',
  method:
    '2,000 sockets that send one byte per second and 10,000 aborted uploads, 1,000 new connections per second; 500 clients that never read; 20 connections that forge keys; 10,000 connections that mix bodies in chunks of one byte, long bodies, pipelined requests and unread responses; where it is installed, also slowhttptest with slow headers, bodies and reads on 1,000 connections each. Legal requests are measured before each attack, during it, and while its sockets are closed, and beside them the same requests to a bare server: their p99 may be three times that before, as far as the bare server is not slower too.',
  unit: 'dripping sockets',
  rounds: 2_000,
  quickRounds: 200,
  run: (options) => run(options, { attacks: attacksOf(options.rounds) }),
  control: {
    brokenBy:
      'a service without a time limit for requests, one that keeps each chunk of a body, and one that stops for each new connection',
    finds: ['sockets are open', 'MiB were in use before', 'p99 of legal requests'],
    run: async (options) => {
      const { rounds } = options;
      const waiting = { attacks: { drip: rounds }, nodeFlags: brokenBy('waits-for-ever') };
      const stopping = {
        attacks: { abort: rounds * 5 },
        nodeFlags: brokenBy('stops-at-connections'),
      };
      const keeping = { attacks: { mix: rounds * 3 }, nodeFlags: brokenBy('keeps-chunks') };
      return mergeReports({
        'no time limit': await run(options, waiting),
        'chunks are kept': await run(options, keeping),
        'stops at connections': await run(options, stopping),
      });
    },
  },
};

function attacksOf(count: number): SlowClientsOptions['attacks'] {
  const short = { drip: count, abort: count * 5, forge: FORGERS };
  if (count < COMPLETE_MIN) return short;
  const isInstalled = spawnSync(SLOWHTTPTEST, ['-h']).error === undefined;
  const others = isInstalled ? Object.keys(SLOWHTTPTEST_FLAGS) : [];
  const each = Object.fromEntries(others.map((attack) => [attack, count / 2]));
  return { ...short, 'never-read': count / 4, mix: count * 5, ...each };
}

async function run(
  { rounds, onProgress }: DrillOptions,
  variant: Pick<SlowClientsOptions, 'attacks' | 'nodeFlags'>,
): Promise<DrillReport> {
  const limits = rounds >= COMPLETE_MIN ? {} : SHORT;
  return drillSlowClients({ ...variant, ...limits, onProgress });
}

interface SlowClientsOptions {
  attacks: Partial<Record<Attack, number>>;
  /** How long the legal requests are measured before the attacks, and at least during each. */
  measuredMs?: number;
  /** How much later than its deadline a socket may be closed. */
  lateMsMax?: number;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  onProgress?: (text: string) => void;
}

/** Measures legal requests before and during each attack, and waits until the service has closed its sockets. */
export async function drillSlowClients(options: SlowClientsOptions): Promise<DrillReport> {
  const { attacks, measuredMs = MEASURED_MS } = options;
  await using stack = new AsyncDisposableStack();
  const service = await ServiceProcess.start({
    nodeFlags: ['--import', MEMORY_USAGE, ...(options.nodeFlags ?? [])],
  });
  stack.defer(() => service.kill());
  const clients = await LegalClients.start(service, stack);
  const { violations } = clients;
  const figures: Record<string, string | number> = {};
  // The first half is for the compiler and the caches.
  await sleep(measuredMs);
  const before = await clients.during(() => sleep(measuredMs));
  const beforeMib = service.memoryMib();
  const [usedBeforeMib] = await memoryOf(service);
  figures['legal p99, of the bare server, before (ms)'] = shown(before);
  for (const [attack, count] of Object.entries(attacks) as [Attack, number][]) {
    options.onProgress?.(`${attack}, ${count} clients`);
    const { attacked, closing, closedSeconds, peakMib } = await runAttack(attack, count, {
      measuredMs,
      lateMsMax: options.lateMsMax ?? LATE_MS_MAX,
      service,
      clients,
    });
    figures[`${attack}: legal p99, of the bare server, during and while it ends (ms)`] =
      `${shown(attacked)}; ${shown(closing)}`;
    figures[`${attack}: closed after (s), memory (MiB)`] = `${closedSeconds}, ${peakMib}`;
    if (peakMib > beforeMib + PEAK_MIB_MAX) {
      violations.push(`${attack}: the memory grew from ${beforeMib} to ${peakMib} MiB`);
    }
    for (const moment of [attacked, closing].filter((each) => isSlower(each, before))) {
      violations.push(
        `${attack}: p99 of legal requests ${shown(moment)} ms, before ${shown(before)} ms`,
      );
    }
  }
  const afterMib = await memoryOf(service);
  if (afterMib[0] > usedBeforeMib + KEPT_MIB_MAX) {
    violations.push(`${usedBeforeMib} MiB were in use before, and ${afterMib[0]} MiB afterwards`);
  }
  figures['memory before, and afterwards: in use, free in the heap, elsewhere (MiB)'] =
    `${beforeMib}; ${afterMib.join(', ')}`;
  // An upload that was aborted must not be stored.
  const requests = await clients.stop();
  violations.push(...(await service.stop()));
  return { passed: requests, violations, figures };
}

/** Where the bare server is slower than before too, the machine is the cause of as much. */
function isSlower(moment: Moment, before: Moment): boolean {
  const machine = Math.max(1, moment.bareMs / before.bareMs);
  return moment.serviceMs > SLOWER_MAX * before.serviceMs * machine;
}

function shown({ serviceMs, bareMs }: Moment): string {
  return `${serviceMs.toFixed(1)}, ${bareMs.toFixed(1)}`;
}

/** Where the memory is, without garbage: in use, free in the heap, and the rest, which the allocator keeps. */
async function memoryOf(
  service: ServiceProcess,
): Promise<[inUse: number, freeInHeap: number, elsewhere: number]> {
  const known = service.countLogLines('memory {');
  service.signal('SIGUSR2');
  while (service.countLogLines('memory {') === known) await sleep(POLL_MS);
  const line =
    service
      .stderr()
      .split('\n')
      .findLast((each) => each.startsWith('memory {')) ?? '';
  const { rss, heapTotal, heapUsed, external } = JSON.parse(line.slice('memory '.length)) as Record<
    'rss' | 'heapTotal' | 'heapUsed' | 'external',
    number
  >;
  return [mib(heapUsed + external), mib(heapTotal - heapUsed), mib(rss - heapTotal - external)];
}

const mib = (bytes: number) => Math.round(bytes / 1024 ** 2);

interface Scene {
  measuredMs: number;
  lateMsMax: number;
  service: ServiceProcess;
  clients: LegalClients;
}

/** Ends when the service has closed the sockets. */
async function runAttack(
  attack: Attack,
  count: number,
  { measuredMs, lateMsMax, service, clients }: Scene,
): Promise<{ attacked: Moment; closing: Moment; closedSeconds: number; peakMib: number }> {
  const filesBefore = service.openFiles();
  const { child, connected } = startAttack(attack, count, service);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  let connectedMs = 0;
  const attacked = await clients.during(async () => {
    await Promise.race([connected, ended]);
    connectedMs = performance.now();
    // Aborted uploads are over now. The others have only begun.
    if (attack !== 'abort') await sleep(Math.max(measuredMs, CLOSED_MS_MAX[attack] / 2));
  });
  // The service does not close a client that reads its responses, nor all of a mix.
  if (attack === 'forge' || attack === 'mix') kill();
  const deadlineMs = connectedMs + CLOSED_MS_MAX[attack] + lateMsMax;
  const closing = await clients.during(async () => {
    while (service.openFiles() > filesBefore && performance.now() < deadlineMs) {
      await sleep(POLL_MS);
    }
  });
  const peakMib = service.peakMemoryMib();
  const open = service.openFiles() - filesBefore;
  const closedSeconds = Math.round((performance.now() - connectedMs) / 1_000);
  if (open > 0) {
    clients.violations.push(`${attack}: ${open} sockets are open after ${closedSeconds} s`);
  }
  kill();
  await ended;
  process.removeListener('exit', kill);
  return { attacked, closing, closedSeconds, peakMib };
}

/** `connected` resolves when all clients have connected or are done. */
function startAttack(
  attack: Attack,
  count: number,
  { port, key, baseUrl }: ServiceProcess,
): { child: ChildProcess; connected: Promise<unknown> } {
  const flags = SLOWHTTPTEST_FLAGS[attack];
  if (flags === undefined) {
    const args = [ATTACKERS, attack, String(port), String(count), key];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (attack !== 'mix') return { child, connected: once(child.stdout, 'data') };
    // They wait for a line before they send. What the service does not read is never sent.
    child.stdin.write('send\n');
    const sent = async () => {
      for await (const line of child.stdout) if (String(line).includes('ready')) return;
    };
    return { child, connected: Promise.race([sent(), sleep(MIXED_MS_MAX)]) };
  }
  const connectingMs = (count / SLOWHTTPTEST_PER_SECOND) * 1_000;
  const seconds = Math.ceil((connectingMs + CLOSED_MS_MAX[attack] + LATE_MS_MAX) / 1_000);
  const path = attack === 'slow read' ? '/openapi.json' : '/v1/pets';
  const numbers = `-c ${count} -r ${SLOWHTTPTEST_PER_SECOND} -l ${seconds} -v 0`;
  const url = new URL(path, baseUrl).href;
  // The program has no option for other headers, but it sends the value of Accept as it is.
  const args = [
    ...`${flags} ${numbers} -u ${url} -m`.split(' '),
    `*/*\r\nAuthorization: Bearer ${key}`,
  ];
  const child = spawn(SLOWHTTPTEST, args, { stdio: 'ignore' });
  return { child, connected: sleep(connectingMs) };
}
