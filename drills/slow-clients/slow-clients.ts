import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client, followList } from '../client.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Attack } from './attackers.ts';
import { LegalClients } from './legal.ts';

const ATTACKERS = fileURLToPath(new URL('./attackers.ts', import.meta.url));
const MEASURED_MS = 6_000;
const POLL_MS = 100;
/** Legal requests may take twice as long as before. */
const SLOWER_MAX = 2;
/** What remains of the memory after the attacks. The allocator of the system keeps about 100 MiB that is free. */
const KEPT_MIB_MAX = 128;

/** The time begins when the service accepts a connection, which is later on a busy machine. */
const LATE_MS_MAX = 20_000;

/**
 * By when the service must have closed the sockets: a request must be complete within 15 s, and a connection
 * without a moved byte is closed after at most 70 s.
 */
const CLOSED_MS_MAX: Readonly<Record<Attack, number>> = {
  drip: 15_000,
  abort: 0,
  'never-read': 70_000,
  forge: 0,
};

export interface SlowClientsOptions {
  attacks: Partial<Record<Attack, number>>;
  /** How long the legal requests are measured before and during each attack. */
  measuredMs?: number;
  /** How much later than its deadline a socket may be closed. */
  lateMsMax?: number;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  onProgress?: (text: string) => void;
}

export interface AttackReport {
  p99Ms: number;
  closedSeconds: number;
  peakMib: number;
}

export interface SlowClientsReport {
  requests: number;
  beforeMs: number;
  attacks: Partial<Record<Attack, AttackReport>>;
  memoryMib: [before: number, after: number];
  violations: string[];
  /** Attacks during which legal requests were too slow. A busy machine may be the cause. */
  slow: string[];
  /** Whether the host was too busy to measure one of the times, which is then not a number. */
  isDisturbed: boolean;
}

/** Measures legal requests before and during each attack, and waits until the service has closed its sockets. */
export async function drillSlowClients(options: SlowClientsOptions): Promise<SlowClientsReport> {
  const key = newSecret('production', randomBytes);
  await using data = await temporaryFolder();
  const flags = ['--data', data.path, '--log', 'silent'];
  const service = await ServiceProcess.start(flags, key, undefined, options.nodeFlags);
  const legal = new LegalClients(service.baseUrl, key);
  const { violations } = legal;
  const report: SlowClientsReport = {
    requests: 0,
    beforeMs: 0,
    attacks: {},
    memoryMib: [0, 0],
    violations,
    slow: [],
    isDisturbed: false,
  };
  const { attacks, measuredMs = MEASURED_MS, lateMsMax = LATE_MS_MAX } = options;
  try {
    await legal.untilConnected();
    // The first half is for the compiler and the caches.
    await sleep(measuredMs);
    legal.takeP99Ms();
    await sleep(measuredMs);
    report.beforeMs = legal.takeP99Ms();
    report.isDisturbed = Number.isNaN(report.beforeMs);
    report.memoryMib[0] = service.memoryMib();
    const scene = { key, measuredMs, lateMsMax, service, legal, report };
    for (const [attack, count] of Object.entries(attacks) as [Attack, number][]) {
      options.onProgress?.(`${attack}, ${count} clients`);
      report.attacks[attack] = await run(attack, count, scene);
    }
    await sleep(measuredMs);
    report.memoryMib[1] = service.memoryMib();
    const [before, after] = report.memoryMib;
    if (after > before + KEPT_MIB_MAX) {
      violations.push(`the memory was ${before} MiB before and is ${after} MiB`);
    }
  } finally {
    await legal.stop();
    report.requests = legal.requests;
    violations.push(...(await compareStored(service.baseUrl, key, legal.created)));
    violations.push(...(await service.stop()));
  }
  return report;
}

interface Scene {
  key: string;
  measuredMs: number;
  lateMsMax: number;
  service: ServiceProcess;
  legal: LegalClients;
  report: SlowClientsReport;
}

async function run(
  attack: Attack,
  count: number,
  { key, measuredMs, lateMsMax, service, legal, report }: Scene,
): Promise<AttackReport> {
  const { violations, beforeMs } = report;
  const filesBefore = service.openFiles();
  const { port } = new URL(service.baseUrl);
  const args = [ATTACKERS, attack, port, String(count), key];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  legal.takeP99Ms();
  await Promise.race([once(child.stdout, 'data'), ended]);
  const connectedMs = performance.now();
  // Aborted uploads are over now. The others have only begun.
  if (attack !== 'abort') await sleep(measuredMs);
  const p99Ms = legal.takeP99Ms();
  let peakMib = service.memoryMib();
  // A client that forges keys reads its responses, so it is not closed by the service.
  if (attack === 'forge') kill();
  const deadlineMs = connectedMs + CLOSED_MS_MAX[attack] + lateMsMax;
  while (service.openFiles() > filesBefore && performance.now() < deadlineMs) {
    await sleep(POLL_MS);
    peakMib = Math.max(peakMib, service.memoryMib());
  }
  const open = service.openFiles() - filesBefore;
  const closedSeconds = Math.round((performance.now() - connectedMs) / 1_000);
  if (open > 0) violations.push(`${attack}: ${open} sockets are open after ${closedSeconds} s`);
  // Nothing was measured if the host of this machine was too busy.
  if (Number.isNaN(p99Ms)) report.isDisturbed = true;
  if (!(p99Ms <= SLOWER_MAX * beforeMs)) {
    report.slow.push(
      `${attack}: 1 % of legal requests took over ${p99Ms.toFixed(1)} ms, before ${beforeMs.toFixed(1)} ms`,
    );
  }
  kill();
  await ended;
  process.removeListener('exit', kill);
  return { p99Ms, closedSeconds, peakMib };
}

/** An upload that was aborted must not be stored. */
async function compareStored(baseUrl: string, key: string, created: number): Promise<string[]> {
  const client = new Client(key);
  let stored = 0;
  for await (const page of followList((target) => client.get(baseUrl + target))) {
    stored += page.length;
  }
  client.close();
  return stored === created
    ? []
    : [`${created} creates were acknowledged and ${stored} are stored`];
}
