import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StalledRequest } from '../../harness/client.ts';
import { ServiceProcess } from '../../harness/service-process.ts';

const ATTACKERS = fileURLToPath(new URL('../../harness/attackers.ts', import.meta.url));
/** By when everything is sent or refused, and how long the attackers then stay connected. */
const SENT_MS_MAX = 8_000;
const STAY_MS = 3_000;
const PROBE_PAUSE_MS = 20;
/** By when the memory must be free again. V8 collects garbage late if little is allocated. */
const FREE_MS_MAX = 30_000;

/** What the attack may cost. The system's allocator keeps a part of what was free in between. */
const MIB_MAX = 100;
/** For 100 connections. */
const WAITED_CPU_SECONDS_MAX = 4;

interface MemoryCase {
  attack: string;
  connections: number;
}

interface MemoryReport {
  /** Without connections, the most during the attack, and afterwards. */
  beforeMib: number;
  peakMib: number;
  afterMib: number;
  /** The most processor time that the service used while one request of another client waited. */
  waitedCpuSeconds: number;
  probes: number;
  violations: string[];
}

/** Attacks a service, and compares what it used with what it may use. */
export async function judgeMemory(options: MemoryCase): Promise<MemoryReport> {
  const report = await drillMemory(options);
  const { beforeMib, peakMib, afterMib, waitedCpuSeconds, violations } = report;
  const { connections } = options;
  if (peakMib - beforeMib > MIB_MAX) {
    violations.push(`the memory grew from ${beforeMib} to ${peakMib} MiB`);
  }
  if (afterMib - beforeMib > MIB_MAX) {
    violations.push(`the memory was ${beforeMib} MiB before and is ${afterMib} MiB afterwards`);
  }
  if (connections <= 100 && waitedCpuSeconds > WAITED_CPU_SECONDS_MAX) {
    violations.push(`/livez waited for ${waitedCpuSeconds} s of processor time`);
  }
  return report;
}

/** Lets many clients attack a service at once, and measures its memory and how long another client waits. */
async function drillMemory(options: MemoryCase): Promise<MemoryReport> {
  const service = await ServiceProcess.start();
  const { key, port } = service;
  const client = new Client(key);
  const violations: string[] = [];
  try {
    const beforeMib = await warmUp(service, client);
    const args = [ATTACKERS, options.attack, String(port), String(options.connections), key];
    const attackers = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const kill = () => attackers.kill('SIGKILL');
    process.once('exit', kill);
    await once(attackers.stdout, 'data');
    const probe = new Probe(service, client);
    attackers.stdin.write('send\n');
    await Promise.race([once(attackers.stdout, 'data'), sleep(SENT_MS_MAX)]);
    await sleep(STAY_MS);
    const waited = await probe.stop();
    kill();
    const afterMib = await freed(service, client, beforeMib);
    const peakMib = service.peakMemoryMib();
    return { beforeMib, peakMib, afterMib, ...waited, violations };
  } finally {
    client.close();
    violations.push(...(await service.stop()));
  }
}

/** The first use of each part needs memory too, so it happens before the measurement. */
async function warmUp(service: ServiceProcess, client: Client): Promise<number> {
  const { origin } = new URL(service.baseUrl);
  for (let index = 0; index < 5; index += 1) {
    await client.create(service.baseUrl, `animal-${index}`, { isClaimed: false });
    await client.get(`${service.baseUrl}/pets?limit=100`);
    await client.get(`${origin}/docs`);
    await client.get(`${origin}/openapi.json`);
  }
  return service.memoryMib();
}

/** Another client, which sends one small request after the other. */
class Probe {
  readonly #ended: Promise<void>;
  #isOver = false;
  waitedCpuSeconds = 0;
  probes = 0;

  constructor(service: ServiceProcess, client: Client) {
    this.#ended = this.#send(service, client);
  }

  async stop(): Promise<{ waitedCpuSeconds: number; probes: number }> {
    this.#isOver = true;
    await this.#ended;
    const { waitedCpuSeconds, probes } = this;
    return { waitedCpuSeconds, probes };
  }

  async #send(service: ServiceProcess, client: Client): Promise<void> {
    const { origin } = new URL(service.baseUrl);
    while (!this.#isOver) {
      const before = service.cpuSeconds();
      // On a busy machine the client may give up before the service has used much processor time.
      while (!(await client.get(`${origin}/livez`).catch(isStalled)));
      this.waitedCpuSeconds = Math.max(this.waitedCpuSeconds, service.cpuSeconds() - before);
      this.probes += 1;
      await sleep(PROBE_PAUSE_MS);
    }
  }
}

function isStalled(error: unknown): undefined {
  if (!(error instanceof StalledRequest)) throw error;
}

/** Waits until no more memory than before is used, and returns how much is used then. */
async function freed(service: ServiceProcess, client: Client, beforeMib: number): Promise<number> {
  const untilMs = performance.now() + FREE_MS_MAX;
  do {
    await sleep(PROBE_PAUSE_MS);
    await client.get(`${service.baseUrl}/pets?limit=100`).catch(isStalled);
  } while (service.memoryMib() > beforeMib + MIB_MAX && performance.now() < untilMs);
  return service.memoryMib();
}
