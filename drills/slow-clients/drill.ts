import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { p99, StolenTime, untilUndisturbed, type Timed } from '../../harness/stolen-time.ts';
import { mergeReports } from '../stores.ts';

const ATTACKERS = fileURLToPath(new URL('./attackers.ts', import.meta.url));
const MIXERS = fileURLToPath(new URL('../../harness/memory-attackers.ts', import.meta.url));
const SLOWHTTPTEST = 'slowhttptest';
const SLOWHTTPTEST_PER_SECOND = 200;
/** How long slowhttptest waits before it sends the next few bytes. */
const FOLLOW_UP_SECONDS = 3;
const CLIENTS = 8;
const LEGAL = { createEvery: 4, pauseMs: 10, isTimed: true };
const MEASURED_MS = 6_000;
const POLL_MS = 100;
/** With fewer responses that the host did not disturb, a time is not measured. */
const UNDISTURBED_MIN = 1_000;
/** Legal requests may take twice as long as before. */
const SLOWER_MAX = 2;
/** What may remain of the memory after the attacks: the allocator of the system keeps a part of what is free. */
const KEPT_MIB_MAX = 256;
/** By when the memory must be free again. V8 collects garbage late if little is allocated. */
const FREE_MS_MAX = 30_000;
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

/** With fewer sockets the drill is short: it does not judge times, nor wait 70 s for clients that never read. */
const COMPLETE_MIN = 1_000;
const SHORT = { measuredMs: 2_000, lateMsMax: 8_000, keptMibMax: 100 };
const FORGERS = 20;

export const drill: Drill = {
  promise:
    'Slow and greedy clients do not slow down others, their sockets are closed by a deadline, and whatever strangers send, memory is limited and returns.',
  method:
    '2,000 sockets that send one byte per second and 10,000 aborted uploads, 1,000 new connections per second; 500 clients that never read; 20 connections that forge keys; 10,000 connections that mix bodies in chunks of one byte, long bodies, pipelined requests and unread responses; where it is installed, also slowhttptest with slow headers, bodies and reads on 1,000 connections each. Legal requests are measured before and during each attack.',
  unit: 'dripping sockets',
  rounds: 2_000,
  quickRounds: 200,
  run: (options) => run(options, { attacks: attacksOf(options.rounds) }),
  control: {
    brokenBy:
      'a service without a time limit for requests, and one that keeps each chunk of a body',
    finds: ['sockets are open', 'the memory was'],
    run: async (options) => {
      const { rounds } = options;
      const waiting = { attacks: { drip: rounds }, nodeFlags: brokenBy('waits-for-ever') };
      const keeping = { attacks: { mix: rounds * 3 }, nodeFlags: brokenBy('keeps-chunks') };
      return mergeReports({
        'no time limit': await run(options, waiting),
        'chunks are kept': await run(options, keeping),
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
  const limits = rounds >= COMPLETE_MIN ? { judgesTimes: true } : SHORT;
  return drillSlowClients({ ...variant, ...limits, onProgress });
}

interface SlowClientsOptions {
  attacks: Partial<Record<Attack, number>>;
  /** How long the legal requests are measured before the attacks, and at least during each. */
  measuredMs?: number;
  /** Whether slow legal requests are violations. A busy host is then waited for. */
  judgesTimes?: boolean;
  keptMibMax?: number;
  /** How much later than its deadline a socket may be closed. */
  lateMsMax?: number;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  onProgress?: (text: string) => void;
}

/** Measures legal requests before and during each attack, and waits until the service has closed its sockets. */
export async function drillSlowClients(options: SlowClientsOptions): Promise<DrillReport> {
  const { attacks, measuredMs = MEASURED_MS, lateMsMax = LATE_MS_MAX } = options;
  const { keptMibMax = KEPT_MIB_MAX, judgesTimes = false, onProgress = () => {} } = options;
  const service = await ServiceProcess.start({ nodeFlags: options.nodeFlags });
  const { key, baseUrl } = service;
  const load = new Load({ key, baseUrl: () => baseUrl, ...LEGAL });
  const { times } = load;
  using stolenTime = new StolenTime();
  const figures: Record<string, string | number> = {};
  load.start(CLIENTS);
  // The first half is for the compiler and the caches.
  await sleep(measuredMs);
  const measureBefore = async () => {
    const from = times.length;
    await sleep(measuredMs);
    return { legal: times.slice(from) };
  };
  const { p99Ms: beforeMs } = await measured(measureBefore, stolenTime, judgesTimes);
  const beforeMib = service.memoryMib();
  figures['legal p99 before (ms)'] = beforeMs.toFixed(1);
  const scene = { measuredMs, lateMsMax, service, times, violations: load.violations };
  for (const [attack, count] of Object.entries(attacks) as [Attack, number][]) {
    onProgress(`${attack}, ${count} clients`);
    // The mix also keeps the processor busy.
    const isJudged = judgesTimes && attack !== 'mix';
    const { p99Ms, closedSeconds, peakMib } = await measured(
      () => runAttack(attack, count, scene),
      stolenTime,
      isJudged,
    );
    figures[`${attack}: legal p99 (ms), closed after (s), memory (MiB)`] =
      `${p99Ms.toFixed(1)}, ${closedSeconds}, ${peakMib}`;
    if (peakMib > beforeMib + PEAK_MIB_MAX) {
      load.violations.push(`${attack}: the memory grew from ${beforeMib} to ${peakMib} MiB`);
    }
    if (isJudged && !(p99Ms <= SLOWER_MAX * beforeMs)) {
      load.violations.push(`${attack}: p99 of legal requests ${p99Ms} ms, before ${beforeMs} ms`);
    }
  }
  const afterMib = await freedMib(service, beforeMib + keptMibMax);
  if (afterMib > beforeMib + keptMibMax) {
    load.violations.push(`the memory was ${beforeMib} MiB before and is ${afterMib} MiB`);
  }
  await load.stop();
  // An upload that was aborted must not be stored.
  await load.compare(baseUrl);
  load.violations.push(...(await service.stop()));
  figures['memory before and after (MiB)'] = `${beforeMib}, ${afterMib}`;
  return { passed: load.counts.requests, violations: load.violations, figures };
}

/** The memory once it is at most `mibMax`, or at the end of the time for that. */
async function freedMib(service: ServiceProcess, mibMax: number): Promise<number> {
  const deadlineMs = performance.now() + FREE_MS_MAX;
  for (;;) {
    await sleep(POLL_MS);
    const mib = service.memoryMib();
    if (mib <= mibMax || performance.now() > deadlineMs) return mib;
  }
}

/**
 * Runs `part`, and returns the 99th percentile of its legal responses. Those that the host of this machine
 * disturbed do not count. If the others are too few, `part` is repeated, but not for ever.
 */
async function measured<Part extends { legal: Timed[] }>(
  part: () => Promise<Part>,
  stolenTime: StolenTime,
  isRepeated: boolean,
): Promise<Part & { p99Ms: number }> {
  const legal: Timed[] = [];
  const undisturbedMs = () => stolenTime.undisturbed(legal).tookMs;
  const result = await untilUndisturbed(
    async () => {
      const one = await part();
      legal.push(...one.legal);
      return one;
    },
    () => isRepeated && undisturbedMs().length < UNDISTURBED_MIN,
  );
  const tookMs = undisturbedMs();
  return { ...result, p99Ms: tookMs.length < UNDISTURBED_MIN ? Number.NaN : p99(tookMs) };
}

interface Scene {
  measuredMs: number;
  lateMsMax: number;
  service: ServiceProcess;
  /** Of the legal requests. */
  times: readonly Timed[];
  violations: string[];
}

/** Ends when the service has closed the sockets. Legal requests are measured for half of that time. */
async function runAttack(
  attack: Attack,
  count: number,
  { measuredMs, lateMsMax, service, times, violations }: Scene,
): Promise<{ legal: Timed[]; closedSeconds: number; peakMib: number }> {
  const filesBefore = service.openFiles();
  const from = times.length;
  const { child, connected } = startAttack(attack, count, service);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  await Promise.race([connected, ended]);
  const connectedMs = performance.now();
  // Aborted uploads are over now. The others have only begun.
  if (attack !== 'abort') await sleep(Math.max(measuredMs, CLOSED_MS_MAX[attack] / 2));
  const legal = times.slice(from);
  let peakMib = service.peakMemoryMib();
  // The service does not close a client that reads its responses, nor all of a mix.
  if (attack === 'forge' || attack === 'mix') kill();
  const deadlineMs = connectedMs + CLOSED_MS_MAX[attack] + lateMsMax;
  while (service.openFiles() > filesBefore && performance.now() < deadlineMs) {
    await sleep(POLL_MS);
    peakMib = service.peakMemoryMib();
  }
  const open = service.openFiles() - filesBefore;
  const closedSeconds = Math.round((performance.now() - connectedMs) / 1_000);
  if (open > 0) violations.push(`${attack}: ${open} sockets are open after ${closedSeconds} s`);
  kill();
  await ended;
  process.removeListener('exit', kill);
  return { legal, closedSeconds, peakMib };
}

/** `connected` resolves when all clients have connected or are done. */
function startAttack(
  attack: Attack,
  count: number,
  { port, key, baseUrl }: ServiceProcess,
): { child: ChildProcess; connected: Promise<unknown> } {
  const flags = SLOWHTTPTEST_FLAGS[attack];
  if (flags === undefined) {
    const program = attack === 'mix' ? MIXERS : ATTACKERS;
    const args = [program, attack, String(port), String(count), key];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (attack !== 'mix') return { child, connected: once(child.stdout, 'data') };
    // The mixers wait for a line before they send. What the service does not read is never sent.
    child.stdin.write('send\n');
    const sent = async () => {
      for await (const line of child.stdout) if (String(line).includes('sent')) return;
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
