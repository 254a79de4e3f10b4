import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client, listAll } from '../../harness/client.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import { freePort } from '../../harness/free-port.ts';
import { MAIN } from '../../harness/command.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';

const CONNECTIONS = 16;
const RETRY_MS = 2;
/** The last signal is sent after about this multiple of the time of a complete start. */
const MOMENTS_SPAN = 1.1;
/** Draining takes at most 8 seconds, and a worker that drains for longer is killed after 9. */
const EXIT_MS_MAX = 12_000;

test(
  'SIGTERM at any moment of a start under load loses no acknowledged animal and resets no request',
  { skip: NEEDS_LINUX },
  async () => {
    const report = await interruptStarts({ workers: 2, moments: 2 });
    assert.deepEqual(report.violations, []);
    assert.ok(report.acknowledged > 0);
  },
);

interface InterruptedStartReport {
  acknowledged: number;
  violations: string[];
}

/**
 * Sends SIGTERM at many moments of a start under load, alternately to the primary and to its whole process
 * group, as systemd does. Every request on an open connection must get its response, and the exit code must
 * be 0.
 */
async function interruptStarts(options: {
  workers: number;
  moments: number;
}): Promise<InterruptedStartReport> {
  const key = newSecret('production', randomBytes);
  await using data = await disposableFolder();
  const report: InterruptedStartReport = { acknowledged: 0, violations: [] };
  const names: string[] = [];
  // The first start also creates the store, and measures how long a start takes under this load.
  const context = { workers: options.workers, data: data.path, key, names, report };
  const wholeMs = await interruptStart(context, Number.POSITIVE_INFINITY, { isGroup: false });
  for (let moment = 0; moment < options.moments; moment += 1) {
    const afterMs = (MOMENTS_SPAN * wholeMs * (moment + 0.5)) / options.moments;
    await interruptStart(context, afterMs, { isGroup: moment % 2 === 1 });
  }
  const service = await ServiceProcess.start({ data: data.path, key });
  const stored = new Set((await listAll(service)).map(({ name }) => name));
  report.violations.push(...(await service.stop()));
  report.acknowledged = names.length;
  const lost = names.filter((name) => !stored.has(name));
  if (lost.length > 0) report.violations.push(`${lost.length} acknowledged animals are lost`);
  return report;
}

interface StartContext {
  workers: number;
  data: string;
  key: string;
  /** The names of the acknowledged animals. */
  names: string[];
  report: InterruptedStartReport;
}

/**
 * Starts the service under load and sends SIGTERM after `afterMs`, or when the start is complete if that is
 * infinite. Returns the milliseconds until the signal.
 */
async function interruptStart(
  context: StartContext,
  afterMs: number,
  { isGroup }: { isGroup: boolean },
): Promise<number> {
  const { report, names } = context;
  const { port, child } = await spawnService(context);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const startedMs = performance.now();
  const state = { isOver: false, signalledMs: 0 };
  const complete = Promise.withResolvers<void>();
  child.stderr.on('data', (chunk: Buffer) => {
    if (chunk.includes('"msg":"started"')) complete.resolve();
  });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  const acknowledgedBefore = names.length;
  const clients = Array.from({ length: CONNECTIONS }, () => load(port, context, state));
  await Promise.race([
    afterMs === Number.POSITIVE_INFINITY ? complete.promise : sleep(afterMs),
    ended,
  ]);
  const tookMs = performance.now() - startedMs;
  state.signalledMs = performance.now();
  if (isGroup && child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
  else child.kill('SIGTERM');
  const overdue = setTimeout(kill, EXIT_MS_MAX);
  const [code, signal] = await ended;
  clearTimeout(overdue);
  process.removeListener('exit', kill);
  state.isOver = true;
  await Promise.all(clients);
  // A process that has not run its first line yet has no signal handler, and has no clients either.
  if (code !== 0 && (names.length > acknowledgedBefore || signal !== 'SIGTERM')) {
    report.violations.push(
      `SIGTERM after ${Math.round(tookMs)} ms: the service ended with ${code ?? signal}`,
    );
  }
  return tookMs;
}

async function spawnService({ workers, data, key }: StartContext) {
  const port = await freePort();
  const flags = ['--port', String(port), '--admin-port', 'off', '--data', data];
  const args = [MAIN, 'serve', ...flags, '--workers', String(workers)];
  const child = spawn(process.execPath, args, {
    env: { PETSTORE_BOOTSTRAP_KEY: key },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  return { port, child };
}

/** Creates one animal after another, on one connection for as long as the service keeps it open. */
async function load(
  port: number,
  { key, names, report }: StartContext,
  state: { isOver: boolean; signalledMs: number },
): Promise<void> {
  const client = new Client(key);
  while (!state.isOver) {
    const name = randomBytes(9).toString('base64url');
    try {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const { status, body } = await client.create(baseUrl, name, { isClaimed: false });
      if (status === 201) names.push(name);
      else report.violations.push(`a create returned ${status} ${body}`);
    } catch (error) {
      // The service does not listen yet, or does not listen any more.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') {
        const sinceMs = Math.round(performance.now() - state.signalledMs);
        const when = state.signalledMs === 0 ? 'before the signal' : `${sinceMs} ms after it`;
        report.violations.push(`${when}: ${String(error)}`);
      }
      await sleep(RETRY_MS);
    }
  }
  client.close();
}
