import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import { loadConfig, SETTINGS, type Config } from '../config.ts';
import { Refusal } from '../domain/errors.ts';
import type { Clock } from '../domain/clock.ts';
import { PORTIONS, type RateLimit } from '../domain/rate-limit.ts';
import { METRIC_SERIES } from '../http/operations.ts';
import { portionsInMemory } from '../http/rate-limit.ts';
import { workerSettings } from '../installation.ts';
import { openAdmin } from '../admin.ts';
import { localUrl } from '../listen.ts';
import type { WorkersExposition } from '../ops/exposition.ts';
import { openLog, type Log } from '../ops/log.ts';
import { Metrics } from '../ops/metrics.ts';
import { FAILED_GRACE_MS, makeFirstKey, startService, type Runtime } from '../service.ts';
import { UsageError } from '../setting.ts';
import { defineCommand, type Call, type Io } from './command.ts';
import { serveAsWorker } from './serve-worker.ts';
import { announce } from './welcome.ts';
import { onWorkerMessage, sendTo } from './worker-channel.ts';
import { WorkerPool, WorkerRefused } from './worker-pool.ts';

/**
 * Signals within this time count as one. Ctrl-C reaches every process of the terminal, and npm and the
 * launcher of an older Node.js pass theirs on, so this process receives the same one twice.
 */
export const SAME_SIGNAL_MS = 1_000;

/** Of version 1.1.0. */
const TRACE_FLAGS = [
  '--otlp-endpoint',
  '--otlp-headers',
  '--service-name',
  '--resource-attributes',
  '--trace-sampler',
  '--trace-sampler-arg',
];
const TRACES_INSTEAD = 'let OpenTelemetry make the traces, as in contrib/traces.env';

export const serve = defineCommand({
  purpose: 'Run the service',
  options: SETTINGS,
  removed: Object.fromEntries(TRACE_FLAGS.map((flag) => [flag, TRACES_INSTEAD])),
  notes: `The first start on an empty store creates an API key and prints it once. PETSTORE_BOOTSTRAP_KEY
supplies that key instead; with --access-log none is created without it. SIGTERM or Ctrl-C stops
the service when its requests are done, after the --drain-delay; a second one, after a second or
more, stops it at once. With --workers, SIGHUP replaces the workers one by one; otherwise it is
ignored, unless its terminal was closed. A PostgreSQL database that is away at the start is waited
for: meanwhile /livez of the admin port is 200, and the port of the interface is closed.`,
  examples: ['serve', 'serve --env staging --workers 2'],
  action: runService,
});

/** Runs the service in this process, or in the configured number of workers. */
async function runService({
  flags,
  io,
}: Pick<Call<never, never>, 'flags' | 'io'>): Promise<number> {
  // Otherwise V8 soon allocates the objects of waiting requests as if they lived long, and the pauses of the
  // garbage collector become ten times as long.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Otherwise V8 collects garbage only when it is three times as large as what is in use.
  setFlagsFromString('--heap-growing-percent=50');
  const config = loadConfig(flags, io.env);
  requireTwoPorts(config);
  const log = openLog(config.logLevel, io.stderr);
  logWarnings(log);
  if (io.stderr.isTTY !== true) logUncaught(io);
  const runtime: Runtime = {
    clock: { now: () => new Date(), elapsedMs: () => performance.now() },
    randomBytes,
    newRequestId: newRequestIds(),
    log,
    accessLog: config.hasAccessLog ? openLog('info', io.stdout) : undefined,
    isWorker: cluster.isWorker,
  };
  if (cluster.isWorker) return serveAsWorker(config, runtime);
  const workers = config.workers === 'auto' ? availableParallelism() : config.workers;
  return workers === 1
    ? serveAlone(config, runtime, io)
    : serveAsPrimary({ ...config, workers }, runtime, io);
}

/** Both ports may be 0: the system then chooses two different ones. */
function requireTwoPorts({ host, port, adminHost, adminPort = 0 }: Config): void {
  if (port === 0 || localUrl(host, port) !== localUrl(adminHost, adminPort)) return;
  throw new UsageError(`--port and --admin-port are both ${port}: they must differ.`);
}

/** Logs the warnings of Node.js, which otherwise prints them as plain text among the JSON lines of the log. */
function logWarnings(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    // The service uses an experimental function of Node.js on purpose: it strips types for the console.
    const level = warning.name === 'ExperimentalWarning' ? 'debug' : 'warn';
    log[level]({ err: warning }, 'Node.js has a warning');
  });
}

/** Logs a defect that ends the process, which Node.js would print as several lines of text. */
function logUncaught(io: Io): void {
  process.on('uncaughtException', (error) => {
    openLog('fatal', io.stderr).fatal({ err: error }, 'the service ends because of a defect');
    process.exit(1);
  });
}

/** Request ids that no other process uses: a random prefix and a counter. */
function newRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}.${(count += 1).toString(36)}`;
}

async function serveAlone(config: Config, runtime: Runtime, io: Io): Promise<number> {
  const { log } = runtime;
  // Closing the terminal sends SIGHUP to its processes. Afterwards, standard input is no terminal any more.
  const hasTerminal = isatty(0);
  const stop = stopSignal(() => process.exit(1), hasTerminal ? ['SIGHUP'] : []);
  if (!hasTerminal) process.on('SIGHUP', () => log.info('SIGHUP is ignored without workers'));
  try {
    const service = await startService(config, { ...runtime, stop });
    announce(config, service, { log, io });
    const failure = await Promise.race([service.failed, aborted(stop)]);
    if (failure !== undefined) {
      await service.close(FAILED_GRACE_MS);
      throw new Refusal('unavailable', failure);
    }
    log.info({ signal: stop.reason as unknown }, 'stopping');
    service.setNotReady();
    await sleep(config.drainDelaySeconds * 1000);
    await service.close();
  } catch (error) {
    if (error !== stop.reason) throw error;
  }
  log.info('stopped');
  return 0;
}

/** Owns the listener and the workers. It serves only the admin port itself. */
async function serveAsPrimary(
  config: Config & { workers: number },
  runtime: Runtime,
  io: Io,
): Promise<number> {
  const { log } = runtime;
  // The workers accept connections themselves. A connection that the primary hands to a worker which has just
  // died would stay open without a response.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary(workerSettings(process.argv));
  const pool = new WorkerPool(config.workers, log);
  // Before anything else starts: a signal without a listener would end the process.
  const stop = stopSignal(() => {
    pool.kill();
    process.exit(1);
  });
  process.on('SIGHUP', () => {
    log.info('replacing the workers one by one');
    pool.replaceAll();
  });
  try {
    await runWorkers(config, { ...runtime, stop }, pool, io);
  } catch (error) {
    // A signal to the process group may also end a worker that does not ignore it yet.
    if (!stop.aborted && error instanceof WorkerRefused) return error.exitCode;
    if (!stop.aborted) throw error;
  }
  log.info('stopped');
  return 0;
}

/** Returns after all workers have stopped. */
async function runWorkers(
  config: Config & { workers: number },
  runtime: Runtime & { stop: AbortSignal },
  pool: WorkerPool,
  io: Io,
): Promise<void> {
  const { log, stop } = runtime;
  await using opened = new AsyncDisposableStack();
  const exposition = await openWorkersExposition();
  if (config.rateLimit !== undefined) givePortions(config.rateLimit, runtime.clock);
  const admin = await openAdmin(config, runtime, {
    figures: () => exposition.figures(),
    expose: async () => exposition,
    isReady: async () => pool.isReady,
  });
  opened.defer(async () => admin?.close());
  opened.defer(() => pool.stop());
  const firstKey = await makeFirstKey(config, runtime);
  const baseUrl = stop.aborted ? undefined : await Promise.race([pool.start(), aborted(stop)]);
  if (baseUrl !== undefined) {
    const { workers } = config;
    announce(config, { baseUrl, adminUrl: admin?.url, firstKey }, { log, io, workers });
    const failure = await Promise.race([pool.failed, aborted(stop)]);
    if (failure !== undefined) throw failure;
  }
  log.info({ signal: stop.reason as unknown }, 'stopping');
  if (baseUrl === undefined) return;
  pool.setNotReady();
  await sleep(config.drainDelaySeconds * 1000);
}

/** The metrics of all workers. */
async function openWorkersExposition(): Promise<WorkersExposition<Worker>> {
  const exposition = new (await import('../ops/exposition.ts')).WorkersExposition<Worker>(
    new Metrics(METRIC_SERIES).figures(),
    (worker) => sendTo(worker, 'report'),
  );
  onWorkerMessage((worker, message) => {
    if ('report' in message) exposition.take(worker, message.report);
  });
  // The last report may arrive after the exit event of the worker, but not after its channel was closed.
  cluster.on('disconnect', (worker) => exposition.remove(worker));
  return exposition;
}

/** The primary reports the sum of the counters of all workers. */
function givePortions(limit: RateLimit, clock: Clock): void {
  const takePortion = portionsInMemory(limit, clock, PORTIONS);
  onWorkerMessage((worker, message) => {
    if (!('portionOf' in message)) return;
    const { portionOf } = message;
    sendTo(worker, { portionOf, portion: takePortion(portionOf) });
  });
}

/** Aborted by the first SIGTERM, SIGINT or other signal of these; a later one ends the process at once. */
function stopSignal(endAtOnce: () => void, others: NodeJS.Signals[] = []): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  const stop = (signal: NodeJS.Signals) => {
    if (!controller.signal.aborted) firstMs = performance.now();
    else if (performance.now() - firstMs >= SAME_SIGNAL_MS) endAtOnce();
    controller.abort(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT', ...others]) process.on(signal, stop);
  // Without this, Node.js removes its signal handlers before it exits, and a repeated signal, such as the one
  // that the launcher passes on, would kill a process that has already stopped cleanly.
  process.once('beforeExit', () => process.exit());
  return controller.signal;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
