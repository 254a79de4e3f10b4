import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client } from '../fleet/client.ts';
import { Reader } from '../fleet/reader.ts';
import { ServiceProcess } from '../fleet/service-process.ts';

const MAIN = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));
const CONNECTIONS = 16;
const RETRY_MS = 2;
/** The moments reach this far beyond the time of a whole start. */
const MOMENTS_SPAN = 1.1;
/** Draining is bounded by 8 seconds, and a worker that drains for longer is killed after 9. */
const EXIT_MS_MAX = 12_000;

export interface InterruptedStartReport {
  moments: number;
  /** Starts that had answered a request when the signal came, but were not complete. */
  whileStarting: number;
  acknowledged: number;
  /** Connections that ended without the response to a request that was sent. */
  resets: number;
  lost: number;
  slowestExitMs: number;
  violations: string[];
}

export interface InterruptedStartOptions {
  workers: number;
  moments: number;
  onProgress?: (moments: number) => void;
}

/**
 * SIGTERM at many moments of a start under load, to the primary and in turn to its whole process group, as
 * systemd sends it: every request on a connection that was made gets its response, and the exit code is 0.
 */
export async function drillInterruptedStart(
  options: InterruptedStartOptions,
): Promise<InterruptedStartReport> {
  const key = newSecret('production', randomBytes);
  const data = await mkdtemp(join(tmpdir(), 'petstore-drill-'));
  const report: InterruptedStartReport = {
    moments: options.moments,
    whileStarting: 0,
    acknowledged: 0,
    resets: 0,
    lost: 0,
    slowestExitMs: 0,
    violations: [],
  };
  const names: string[] = [];
  try {
    // The first start also makes the store, and shows how long a start takes under this load.
    const place = { workers: options.workers, data, key, names, report };
    const wholeMs = await interruptStart(place, Number.POSITIVE_INFINITY, { isGroup: false });
    for (let moment = 0; moment < options.moments; moment += 1) {
      const afterMs = (MOMENTS_SPAN * wholeMs * (moment + 0.5)) / options.moments;
      await interruptStart(place, afterMs, { isGroup: moment % 2 === 1 });
      options.onProgress?.(moment + 1);
    }
    const service = await ServiceProcess.start(['--data', data], key);
    const reader = new Reader([service.baseUrl], key);
    await reader.follow(() => true);
    report.violations.push(...(await service.stop()), ...reader.violations);
    report.acknowledged = names.length;
    report.lost = names.filter((name) => !reader.met.has(name)).length;
    if (report.lost > 0) report.violations.push(`${report.lost} acknowledged animals are lost`);
    return report;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

interface Place {
  workers: number;
  data: string;
  key: string;
  /** Of the animals that were acknowledged. */
  names: string[];
  report: InterruptedStartReport;
}

/** Starts the service under load, and ends it after so long or when it is complete; returns after how long. */
async function interruptStart(
  place: Place,
  afterMs: number,
  { isGroup }: { isGroup: boolean },
): Promise<number> {
  const { report, names } = place;
  const port = await freePort();
  const flags = ['--port', String(port), '--admin-port', 'off', '--data', place.data];
  const args = [MAIN, 'serve', ...flags, '--workers', String(place.workers)];
  const child = spawn(process.execPath, args, {
    env: { PETSTORE_BOOTSTRAP_KEY: place.key },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const startedMs = performance.now();
  const state = { isStarted: false, isOver: false, signalledMs: 0 };
  const whole = Promise.withResolvers<void>();
  child.stderr.on('data', (chunk: Buffer) => {
    if (!chunk.includes('"msg":"started"')) return;
    state.isStarted = true;
    whole.resolve();
  });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  const acknowledgedBefore = names.length;
  const clients = Array.from({ length: CONNECTIONS }, () => load(port, place, state));
  await Promise.race([
    afterMs === Number.POSITIVE_INFINITY ? whole.promise : sleep(afterMs),
    ended,
  ]);
  const tookMs = performance.now() - startedMs;
  if (!state.isStarted && names.length > acknowledgedBefore) report.whileStarting += 1;
  state.signalledMs = performance.now();
  if (isGroup && child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
  else child.kill('SIGTERM');
  const overdue = setTimeout(kill, EXIT_MS_MAX);
  const [code, signal] = await ended;
  clearTimeout(overdue);
  process.removeListener('exit', kill);
  report.slowestExitMs = Math.max(report.slowestExitMs, performance.now() - state.signalledMs);
  state.isOver = true;
  await Promise.all(clients);
  // A process that has not come to its first line has no handlers yet, and serves nobody.
  if (code !== 0 && (names.length > acknowledgedBefore || signal !== 'SIGTERM')) {
    report.violations.push(`after ${Math.round(tookMs)} ms: it ended with ${code ?? signal}`);
  }
  return tookMs;
}

/** Creates animal after animal, on a connection that is kept as long as the service keeps it. */
async function load(
  port: number,
  { key, names, report }: Place,
  state: { isOver: boolean; signalledMs: number },
): Promise<void> {
  const client = new Client(key);
  while (!state.isOver) {
    const name = randomBytes(9).toString('base64url');
    try {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const { status, body } = await client.create(baseUrl, name, { isClaimed: false });
      if (status === 201) names.push(name);
      else report.violations.push(`a create got ${status} ${body}`);
    } catch (error) {
      // Nobody listens yet, or any more.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') {
        report.resets += 1;
        const sinceMs = Math.round(performance.now() - state.signalledMs);
        const when = state.signalledMs === 0 ? 'before the signal' : `${sinceMs} ms after it`;
        report.violations.push(`${when}: ${String(error)}`);
      }
      await sleep(RETRY_MS);
    }
  }
  client.close();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
