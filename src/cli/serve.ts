import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import { loadConfig, SETTINGS, type Config } from '../config.ts';
import { Refusal } from '../domain/errors.ts';
import { workerSettings } from '../ops/installation.ts';
import { baseUrlOf, localUrl } from '../listen.ts';
import { openLog, type Log } from '../ops/log.ts';
import {
  createFirstKey,
  FAILED_GRACE_MS,
  prepareStore,
  startService,
  type Runtime,
  type Service,
} from '../service.ts';
import { UsageError } from '../setting.ts';
import { defineCommand, type Call, type Io } from './command.ts';
import { announce } from './welcome.ts';
import {
  configOfWorker,
  PLACE_VARIABLE,
  REPLACE_SIGNAL,
  requireShares,
  Workers,
} from './workers.ts';

/**
 * Signals within this time count as one. Ctrl-C reaches every process of the terminal, and npm and the
 * launcher of an older Node.js pass theirs on, so this process receives the same one twice.
 */
export const SAME_SIGNAL_MS = 1_000;
/**
 * After this time every worker has closed the port. A client that a worker disconnects connects again at once, and
 * must then be refused, not accepted by a port that is about to be closed.
 */
const ALL_CLOSED_MS = 1_000;

export const serve = defineCommand({
  purpose: 'Run the service',
  options: SETTINGS,
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
async function runService(call: Pick<Call<never, never>, 'flags' | 'io'>): Promise<number> {
  try {
    return await runProcess(call);
  } finally {
    // The channel between a worker and its primary would keep the process alive.
    process.channel?.unref();
  }
}

async function runProcess({
  flags,
  io,
}: Pick<Call<never, never>, 'flags' | 'io'>): Promise<number> {
  // Otherwise V8 soon allocates the objects of waiting requests as if they lived long, and the pauses of the
  // garbage collector become ten times as long.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Otherwise V8 collects garbage only when it is three times as large as what is in use.
  setFlagsFromString('--heap-growing-percent=50');
  const config = loadConfig(flags, io.env);
  const count = config.workers === 'auto' ? availableParallelism() : config.workers;
  requirePorts(config, count);
  requireShares(config, count);
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
  if (cluster.isWorker) return serveAsWorker(config, runtime, io.env[PLACE_VARIABLE] ?? '');
  return count === 1 ? serveAlone(config, runtime, io) : serveAsPrimary(config, count, runtime, io);
}

/** Each worker has an admin port of its own. The system chooses different ones if they are 0. */
function requirePorts(config: Config, count: number): void {
  const { host, port, adminHost, adminPort = 0 } = config;
  const last = adminPort + count - 1;
  if (last > 65_535) {
    throw new UsageError(
      `--admin-port is ${adminPort}, and ${count} workers have as many ports from there: it must be at most ${65_536 - count}.`,
    );
  }
  if (port === 0 || adminPort === 0 || localUrl(host, port) !== localUrl(adminHost, port)) return;
  if (port < adminPort || port > last) return;
  throw new UsageError(
    count === 1
      ? `--port and --admin-port are both ${port}: they must differ.`
      : `--port is ${port}, and the admin ports of ${count} workers are ${adminPort} to ${last}: it must be another one.`,
  );
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
  const stop = stopSignal(log, hasTerminal ? ['SIGHUP'] : []);
  if (!hasTerminal) process.on('SIGHUP', () => log.info('SIGHUP is ignored without workers'));
  return untilStopped(stop, log, async () => {
    const service = await startService(config, { ...runtime, stop });
    announce(config, service, { log, io });
    await stoppedOrFailed(stop, service);
    service.setNotReady();
    await sleep(config.drainDelaySeconds * 1000);
    await service.close();
    return 0;
  });
}

/** Opens the store once, and then keeps workers running that serve it. */
async function serveAsPrimary(
  config: Config,
  count: number,
  runtime: Runtime,
  io: Io,
): Promise<number> {
  const { log } = runtime;
  // Before anything else: a signal without a listener would end the process.
  const stop = stopSignal(log);
  const workers = new Workers(count, log, stop);
  process.on('SIGHUP', () => void workers.replaceAll());
  // The workers accept connections themselves. A connection that the primary hands to a worker which has just
  // died would stay open without a response.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary(workerSettings(process.argv));
  return untilStopped(stop, log, async () => {
    const first = configOfWorker(config);
    await prepareStore(first, { ...runtime, stop });
    const address = await workers.start();
    if (address !== undefined) {
      const firstKey = await createFirstKey(first, { ...runtime, stop }).catch(
        async (error: unknown) => {
          await workers.end();
          throw error;
        },
      );
      const baseUrl = baseUrlOf(config, address.port);
      const adminUrl = first.adminPort ? localUrl(first.adminHost, first.adminPort) : undefined;
      announce(config, { baseUrl, adminUrl, firstKey }, { log, io, workers: count });
    }
    return workers.ended();
  });
}

/** Serves on the port of the primary, which passes SIGTERM on. A process group gets each signal at once. */
async function serveAsWorker(config: Config, runtime: Runtime, place: string): Promise<number> {
  const { log } = runtime;
  process.on('SIGHUP', () => undefined);
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', REPLACE_SIGNAL] as const) {
    process.on(signal, () => controller.abort(signal));
  }
  const stop = controller.signal;
  return untilStopped(stop, undefined, async () => {
    const service = await startService(configOfWorker(config, place), { ...runtime, stop });
    log.info({ worker: place, adminUrl: service.adminUrl }, 'a worker serves');
    await stoppedOrFailed(stop, service);
    if (stop.reason !== REPLACE_SIGNAL) {
      service.setNotReady();
      await sleep(config.drainDelaySeconds * 1000);
      await service.stopListening();
      await sleep(ALL_CLOSED_MS);
    }
    await service.close();
    return 0;
  });
}

/** Returns the exit code. A start that is stopped throws the reason of the signal. */
async function untilStopped(
  stop: AbortSignal,
  log: Log | undefined,
  run: () => Promise<number>,
): Promise<number> {
  const exitCode = await run().catch((error: unknown) => {
    if (!stop.aborted || error !== stop.reason) throw error;
    return 0;
  });
  if (exitCode === 0) log?.info('stopped');
  return exitCode;
}

/** Resolves when the service is to be stopped. If its store fails first, closes the service and throws. */
async function stoppedOrFailed(stop: AbortSignal, service: Service): Promise<void> {
  const failure = await Promise.race([service.failed, aborted(stop)]);
  if (failure === undefined) return;
  await service.close(FAILED_GRACE_MS);
  throw new Refusal('unavailable', failure);
}

/**
 * Aborted by the first SIGTERM, SIGINT or other signal of these; a later one ends the process at once, and with a primary
 * its workers end.
 */
function stopSignal(log: Log, others: NodeJS.Signals[] = []): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  const stop = (signal: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      firstMs = performance.now();
      log.info({ signal }, 'stopping');
    } else if (performance.now() - firstMs >= SAME_SIGNAL_MS) process.exit(1);
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
