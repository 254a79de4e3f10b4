import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { Proxy, type ProxyProgram } from '../../test/support/proxies.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ProxyLoad } from './proxy-load.ts';

const RESTARTS_MIN = 4;
const POLL_MS = 20;
/** Between two restarts: Caddy and HAProxy must see that the service that was restarted is ready. */
const PAUSE_MS = 3_000;
const STARTS_MAX = 5;
/** As in contrib/Caddyfile: within this time Caddy and HAProxy find out that a service is about to stop. */
const DRAIN_DELAY_SECONDS = '5';
const REPLACED = 'all workers were replaced';

export interface RestartsOptions {
  requests: number;
  onProgress: (requests: number) => void;
}

export interface RestartsReport {
  requests: number;
  failed: number;
  restarts: number;
  slowestMs: number;
  violations: string[];
}

/** One service with two workers behind the proxy. SIGHUP replaces the workers, again and again. */
export async function drillRollingRestarts(
  kind: ProxyProgram,
  options: RestartsOptions,
): Promise<RestartsReport> {
  await using folder = await temporaryFolder();
  const key = newSecret('production', randomBytes);
  const service = await ServiceProcess.start(['--workers', '2', '--data', folder.path], key);
  const restarts = () => service.countLogLines(REPLACED);
  try {
    return await underLoad(kind, [service], {
      ...options,
      key,
      restarts,
      async restart() {
        const before = restarts();
        service.signal('SIGHUP');
        while (restarts() === before) await sleep(POLL_MS);
      },
    });
  } finally {
    await service.stop();
  }
}

/** Services on one PostgreSQL. One after the other is stopped and started again. */
export async function drillPlainRestarts(
  kind: ProxyProgram,
  options: RestartsOptions & { instances: number; awayMs: number },
): Promise<RestartsReport> {
  const postgres = await PostgresServer.start();
  const key = newSecret('production', randomBytes);
  const fixed = ['--database', postgres.url(), '--drain-delay', DRAIN_DELAY_SECONDS];
  const start = (flags: string[] = []) => ServiceProcess.start([...fixed, ...flags], key);
  const services: ServiceProcess[] = [];
  while (services.length < options.instances) services.push(await start());
  let restarts = 0;
  const violations: string[] = [];
  try {
    const report = await underLoad(kind, services, {
      ...options,
      key,
      restarts: () => restarts,
      async restart() {
        const index = restarts % services.length;
        const service = services[index];
        if (service === undefined) return;
        violations.push(...(await service.stop()));
        await sleep(options.awayMs);
        services[index] = await startAgain(() => start(['--port', portOf(service)]));
        restarts += 1;
      },
    });
    return { ...report, violations: [...report.violations, ...violations] };
  } finally {
    for (const service of services) await service.stop();
    await postgres.close();
  }
}

/** A start may fail while the machine is busy. A service manager then tries again, too. */
async function startAgain(start: () => Promise<ServiceProcess>): Promise<ServiceProcess> {
  for (let attempt = 1; attempt < STARTS_MAX; attempt += 1) {
    try {
      return await start();
    } catch {
      await sleep(POLL_MS);
    }
  }
  return start();
}

async function underLoad(
  kind: ProxyProgram,
  services: readonly ServiceProcess[],
  options: RestartsOptions & {
    key: string;
    restarts: () => number;
    restart: () => Promise<void>;
  },
): Promise<RestartsReport> {
  const { requests, key, restarts, restart, onProgress } = options;
  const proxy = await Proxy.configure(kind, services.map(portOf).map(Number));
  try {
    await proxy.start();
    const isEnough = () => restarts() >= RESTARTS_MIN;
    const load = new ProxyLoad(proxy, { requests, key, isEnough, onProgress });
    const loading = load.run();
    while (!load.isOver) {
      await sleep(PAUSE_MS);
      await restart();
    }
    await loading;
    const [service] = services;
    const wrong = service === undefined ? [] : await load.check(service.baseUrl);
    return {
      requests: load.requests,
      failed: load.failures.length,
      restarts: restarts(),
      slowestMs: Math.round(load.slowestMs),
      violations: [...load.failures, ...wrong],
    };
  } finally {
    await proxy.close();
  }
}

function portOf({ baseUrl }: ServiceProcess): string {
  return new URL(baseUrl).port;
}
