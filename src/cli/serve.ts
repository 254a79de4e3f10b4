import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { loadConfig, type Config } from '../config.ts';
import { openLog } from '../ops/log.ts';
import { makeFirstKey, openAdmin, startService, type Surroundings } from '../service.ts';
import type { Io } from './command.ts';
import { help } from './help.ts';
import { welcome } from './welcome.ts';
import { STOP, WorkerPool, WorkerRefused, type WorkerReady } from './worker-pool.ts';

/** Runs the service: here, or in as many workers as the settings say. */
export async function serve(args: string[], io: Io): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(help());
    return 0;
  }
  const config = loadConfig(args, io.env);
  const around: Surroundings = {
    clock: { now: () => new Date(), elapsedMs: () => performance.now() },
    randomBytes,
    newRequestId: newRequestIds(),
    log: openLog(config.logLevel, io.stderr),
    isWorker: cluster.isWorker,
  };
  if (cluster.isWorker) return serveAsWorker(config, around);
  return config.workers === 1 ? serveAlone(config, around, io) : serveAsPrimary(config, around, io);
}

/** Request ids that no other process gives: a random beginning and a count. */
function newRequestIds(): () => string {
  const beginning = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${beginning}.${(count += 1).toString(36)}`;
}

async function serveAlone(config: Config, around: Surroundings, io: Io): Promise<number> {
  const { log } = around;
  const service = await startService(config, around);
  // Before anybody is told that it runs: the next thing they do may be to stop it.
  const stopping = firstSignal(() => process.exit(1));
  io.stderr.write(welcome(config, service));
  log.info({ baseUrl: service.baseUrl, environment: config.environment }, 'started');
  const signal = await stopping;
  log.info({ signal }, 'stopping');
  await service.close();
  log.info('stopped');
  return 0;
}

/** Answers requests on the listener of the primary, until the primary says stop. */
async function serveAsWorker(config: Config, around: Surroundings): Promise<number> {
  // A signal to the whole group is for the primary to act on.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  const stopped = Promise.withResolvers<void>();
  process.on('SIGTERM', () => stopped.resolve());
  process.on('message', (message) => {
    if (message === STOP) stopped.resolve();
  });
  try {
    const service = await startService({ ...config, adminPort: undefined }, around);
    const { shareMetrics } = await import('../ops/exposition.ts');
    shareMetrics(service.metrics);
    process.send?.({ ready: { baseUrl: service.baseUrl } } satisfies WorkerReady);
    await stopped.promise;
    await service.close();
    return 0;
  } finally {
    // The channel to the primary would keep the process alive.
    process.channel?.unref();
  }
}

/** Owns the listener and the workers, and serves nothing itself but what operators ask for. */
async function serveAsPrimary(config: Config, around: Surroundings, io: Io): Promise<number> {
  const { log } = around;
  const pool = new WorkerPool(config.workers, log);
  // From the beginning: a signal that nobody listens to yet would end the process.
  process.on('SIGHUP', () => {
    log.info('replacing the workers one by one');
    void pool.replaceAll();
  });
  const firstKey = await makeFirstKey(config, around);
  const { openSharedRateLimits } = await import('../http/rate-limit.ts');
  const { openFleetExposition } = await import('../ops/exposition.ts');
  openSharedRateLimits(config.rateLimit, around.clock);
  const exposition = openFleetExposition();
  const admin = await openAdmin(config, around, {
    expose: async () => exposition,
    isReady: async () => pool.readyCount > 0,
  });
  let baseUrl: string;
  try {
    baseUrl = await pool.start();
  } catch (error) {
    await pool.stop();
    await admin?.close();
    if (error instanceof WorkerRefused) return error.exitCode;
    throw error;
  }
  const stopping = firstSignal(() => {
    pool.kill();
    process.exit(1);
  });
  io.stderr.write(welcome(config, { baseUrl, adminUrl: admin?.url, firstKey }));
  log.info({ baseUrl, environment: config.environment, workers: config.workers }, 'started');
  const signal = await stopping;
  log.info({ signal }, 'stopping');
  await pool.stop();
  await admin?.close();
  log.info('stopped');
  return 0;
}

/** Resolves at the first signal to stop; a second one ends everything at once. */
function firstSignal(endAtOnce: () => void): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) endAtOnce();
    isStopping = true;
    resolve(signal);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return promise;
}
