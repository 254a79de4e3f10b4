import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ServiceProcess } from '../../harness/service-process.ts';
import { isQuick, type DrillOptions, type DrillReport } from '../drill.ts';
import { LegalClients, type Moment } from './legal-clients.ts';

const ATTACKERS = fileURLToPath(new URL('../../harness/attackers.ts', import.meta.url));
const MEMORY_USAGE = fileURLToPath(new URL('./memory-usage.ts', import.meta.url));
const SLOWHTTPTEST = 'slowhttptest';
const SLOWHTTPTEST_PER_SECOND = 200;
const POLL_MS = 100;
/** Legal requests may take three times as long as before. */
const SLOWER_MAX = 3;
/** A create that has waited for 4 s is refused. A machine that stands still makes it wait, whatever strangers do. */
const STALL_MS = 4_000 / SLOWER_MAX;
/**
 * How much more memory may be in use after the attacks, without garbage. The process keeps far more: what is free in
 * the heap, and what the allocator of the system does not give back, which one arena does not change.
 */
const KEPT_MIB_MAX = 64;
/** By when attackers of the memory have sent everything. What the service does not read is never sent. */
const SENT_MS_MAX = 20_000;
/** Without another bound. 10,000 idle connections alone need 100 to 150 MiB. */
const GROWTH_MIB_MAX = 512;

/** With fewer sockets the drill is short: it does not wait 70 s for clients that never read. */
const COMPLETE_MIN = 1_000;
const COMPLETE = { measuredMs: 6_000, lateMsMax: 20_000 };
/** `lateMsMax`: the time of a socket begins when the service accepts it, which is later on a busy machine. */
const SHORT = { measuredMs: 2_000, lateMsMax: 8_000 };

/** Beyond that, sockets whose bytes are still being parsed may be open for so long: on a busy machine that takes longer. */
const PARSING_MS_MAX = 40_000;

interface Attack {
  /** How many clients, or how many per dripping socket. */
  clients: number | { perSocket: number };
  /**
   * By when the service must have closed the sockets: a request must be complete within 15 s, its head within 10 s, and
   * a connection without a moved byte is closed after at most 70 s.
   */
  closedMsMax: number;
  /** How much the memory may grow. */
  growthMibMax?: number;
  /** Everything is sent at once, when all have connected. */
  isGreedy?: boolean;
  /**
   * Legal requests may wait, and creates that have waited for 4 s be refused: so many bytes at once only show how fast
   * they are parsed.
   */
  mayDelay?: boolean;
  /** The service does not close a client that reads its responses: the drill ends the clients. */
  isEnded?: boolean;
  /** Not part of a quick run. */
  isLong?: boolean;
  /** The arguments of slowhttptest; otherwise it is an attack of harness/attackers.ts. */
  flags?: string;
}

/** Bytes in chunks of one byte cost the most memory for each byte that is received. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  'chunks with a key': { clients: 20, closedMsMax: 15_000, growthMibMax: 100, isGreedy: true },
  'chunks with an invented key': {
    clients: 200,
    closedMsMax: 15_000,
    growthMibMax: 100,
    isGreedy: true,
    mayDelay: true,
  },
  drip: { clients: { perSocket: 1 }, closedMsMax: 15_000 },
  abort: { clients: { perSocket: 5 }, closedMsMax: 0 },
  forge: { clients: 20, closedMsMax: 0, isEnded: true },
  'never-read': { clients: { perSocket: 0.25 }, closedMsMax: 70_000, isLong: true },
  // Chunks of one byte, long bodies, pipelined requests and unread responses, with and without a key.
  mix: {
    clients: { perSocket: 5 },
    closedMsMax: 15_000,
    isGreedy: true,
    isEnded: true,
    isLong: true,
  },
  'slow headers': {
    clients: { perSocket: 0.5 },
    closedMsMax: 10_000,
    isLong: true,
    flags: '-H -i 3',
  },
  'slow body': {
    clients: { perSocket: 0.5 },
    closedMsMax: 15_000,
    isLong: true,
    flags: '-B -i 3 -t POST -s 8192 -f application/json',
  },
  'slow read': {
    clients: { perSocket: 0.5 },
    closedMsMax: 70_000,
    isLong: true,
    flags: '-X -k 3 -n 5 -z 5 -w 1 -y 64',
  },
};

/** The names of the attacks of a run of this size on this machine. */
function attacksOf(rounds: number): string[] {
  const isInstalled = spawnSync(SLOWHTTPTEST, ['-h']).error === undefined;
  return Object.entries(ATTACKS)
    .filter(([, { isLong }]) => rounds >= COMPLETE_MIN || isLong !== true)
    .filter(([, { flags }]) => flags === undefined || isInstalled)
    .map(([name]) => name);
}

interface Variant {
  /** All by default. */
  attacks?: readonly string[];
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
}

/** Measures legal requests before and during each attack, and waits until the service has closed its sockets. */
export async function attackService(
  { rounds, onProgress }: DrillOptions,
  { attacks = attacksOf(rounds), nodeFlags = [] }: Variant = {},
): Promise<DrillReport> {
  const times = rounds >= COMPLETE_MIN ? COMPLETE : SHORT;
  await using stack = new AsyncDisposableStack();
  const service = await ServiceProcess.start({
    nodeFlags: ['--import', MEMORY_USAGE, ...nodeFlags],
  });
  stack.defer(() => service.kill());
  const clients = await LegalClients.start(service, stack);
  const { violations } = clients;
  const figures: Record<string, string | number> = {};
  // The first half is for the compiler and the caches.
  await sleep(times.measuredMs);
  const before = await clients.during(() => sleep(times.measuredMs));
  const beforeMib = service.memoryMib();
  const [usedBeforeMib] = await memoryOf(service);
  figures['legal p99, of the bare server, before (ms)'] = shown(before);
  if (!isQuick) violations.push(...refusals('before any attack', before));
  for (const name of attacks) {
    const attack = ATTACKS[name];
    if (attack === undefined) throw new Error(`there is no attack ${name}`);
    onProgress(name);
    const scene = { ...times, rounds, service, clients };
    const { attacked, closing, closedSeconds, peakMib } = await run(name, attack, scene);
    figures[`${name}: legal p99, of the bare server, during and while it ends (ms)`] =
      `${shown(attacked)}; ${shown(closing)}`;
    figures[`${name}: closed after (s), memory (MiB)`] = `${closedSeconds}, ${peakMib}`;
    if (peakMib > beforeMib + (attack.growthMibMax ?? GROWTH_MIB_MAX)) {
      violations.push(`${name}: the memory grew from ${beforeMib} to ${peakMib} MiB`);
    }
    if (attack.mayDelay === true) {
      figures[`${name}: creates that were refused`] = attacked.refused + closing.refused;
    } else if (!isQuick) {
      const moments = [attacked, closing];
      violations.push(...moments.flatMap((moment) => delays(name, moment, before)));
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

function delays(name: string, moment: Moment, before: Moment): string[] {
  const slower = `${name}: p99 of legal requests ${shown(moment)} ms, before ${shown(before)} ms`;
  return [...(isSlower(moment, before) ? [slower] : []), ...refusals(name, moment)];
}

/** Where the bare server has stood still too, the machine has. */
function refusals(name: string, { refused, bareSlowestMs }: Moment): string[] {
  if (refused === 0 || bareSlowestMs >= STALL_MS) return [];
  return [
    `${name}: ${refused} creates got 503, and the bare server took at most ${Math.round(bareSlowestMs)} ms`,
  ];
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
  rounds: number;
  measuredMs: number;
  lateMsMax: number;
  service: ServiceProcess;
  clients: LegalClients;
}

/** Ends when the service has closed the sockets. */
async function run(
  name: string,
  attack: Attack,
  { rounds, measuredMs, lateMsMax, service, clients }: Scene,
): Promise<{ attacked: Moment; closing: Moment; closedSeconds: number; peakMib: number }> {
  const filesBefore = service.openFiles();
  const { closedMsMax } = attack;
  const count =
    typeof attack.clients === 'number' ? attack.clients : rounds * attack.clients.perSocket;
  const { child, connected } = start(name, attack, Math.ceil(count), service);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  let connectedMs = 0;
  const attacked = await clients.during(async () => {
    await Promise.race([connected, ended]);
    connectedMs = performance.now();
    // Aborted uploads are over now. The others have only begun.
    if (name !== 'abort') await sleep(Math.max(measuredMs, closedMsMax / 2));
  });
  if (attack.isEnded === true) kill();
  const moreMs = attack.mayDelay === true ? PARSING_MS_MAX : lateMsMax;
  const deadlineMs = connectedMs + closedMsMax + moreMs;
  const closing = await clients.during(async () => {
    while (service.openFiles() > filesBefore && performance.now() < deadlineMs) {
      await sleep(POLL_MS);
    }
  });
  const peakMib = service.peakMemoryMib();
  const open = service.openFiles() - filesBefore;
  const closedSeconds = Math.round((performance.now() - connectedMs) / 1_000);
  if (open > 0) {
    clients.violations.push(`${name}: ${open} sockets are open after ${closedSeconds} s`);
  }
  kill();
  await ended;
  process.removeListener('exit', kill);
  return { attacked, closing, closedSeconds, peakMib };
}

/** `connected` resolves when all clients have connected or are done. */
function start(
  name: string,
  { flags, closedMsMax, isGreedy }: Attack,
  count: number,
  { port, key, baseUrl }: ServiceProcess,
): { child: ChildProcess; connected: Promise<unknown> } {
  if (flags === undefined) {
    const args = [ATTACKERS, name, String(port), String(count), key];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (isGreedy !== true) return { child, connected: once(child.stdout, 'data') };
    // They wait for a line before they send.
    child.stdin.write('send\n');
    const sent = async () => {
      for await (const line of child.stdout) if (String(line).includes('ready')) return;
    };
    return { child, connected: Promise.race([sent(), sleep(SENT_MS_MAX)]) };
  }
  const connectingMs = (count / SLOWHTTPTEST_PER_SECOND) * 1_000;
  const seconds = Math.ceil((connectingMs + closedMsMax + COMPLETE.lateMsMax) / 1_000);
  const path = name === 'slow read' ? '/openapi.json' : '/v1/pets';
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
