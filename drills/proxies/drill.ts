import { setTimeout as sleep } from 'node:timers/promises';
import { needs } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { isInstalled, Proxy, PROXY_PROGRAMS, type ProxyProgram } from '../../harness/proxies.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { Creates } from '../../harness/creates.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { mergeReports } from '../stores.ts';
import { Http2Client, newHttp1Client, type ProxyClient } from '../../harness/proxy-clients.ts';

const HTTP1_CLIENTS = 8;
const HTTP2_CLIENTS = 2;
/** How many requests an HTTP/2 client sends at the same time. */
const HTTP2_STREAMS = 4;
const CREATE_EVERY = 4;
const LOAD_MS_MAX = 600_000;
const RESTARTS_MIN = 4;
const SHORT_BELOW = 10_000;
const POLL_MS = 20;
/** Between two restarts: Caddy and HAProxy must see that the service that was restarted is ready. */
const PAUSE_MS = 3_000;
const STARTS_MAX = 5;
/** As in contrib/Caddyfile: within this time Caddy and HAProxy find out that a service is about to stop. */
const DRAIN_DELAY_SECONDS = '5';
/** Longer than any of the proxies tries again. */
const CONTROL_AWAY_MS = 8_000;

const INSTALLED = PROXY_PROGRAMS.filter((kind) => isInstalled(kind));

export const drill: Drill = {
  promise:
    'Behind nginx, Caddy or HAProxy, a rolling restart fails no request, nor does a plain restart of one of two instances.',
  method:
    'The files of contrib/ with TLS; half of the requests HTTP/2, one in four a create. Proxies that are not installed are left out.',
  unit: 'requests per proxy and kind of restart',
  rounds: 20_000,
  quickRounds: 1_000,
  isNamedOnly: true,
  findMissing: () => needs('nginx, Caddy or HAProxy; none is installed', INSTALLED.length > 0),
  async run(options) {
    const reports: Record<string, DrillReport> = {};
    for (const kind of INSTALLED) {
      reports[`${kind.name}, rolling restarts`] = await runRolling(kind, options);
      const plain = { instances: 2, awayMs: 0 };
      reports[`${kind.name}, plain restarts`] = await runPlain(kind, options, plain);
    }
    return mergeReports(reports);
  },
  control: {
    brokenBy: 'plain restarts with only one instance',
    finds: INSTALLED.map(({ name }) => `${name}: `),
    async run(options) {
      const alone = { instances: 1, awayMs: CONTROL_AWAY_MS };
      const reports: Record<string, DrillReport> = {};
      for (const kind of INSTALLED) reports[kind.name] = await runPlain(kind, options, alone);
      return mergeReports(reports);
    },
  },
};

/** One service with two workers behind the proxy. SIGHUP replaces the workers, again and again. */
async function runRolling(kind: ProxyProgram, options: DrillOptions): Promise<DrillReport> {
  const flags = ['--workers', '2', '--log', 'info'];
  const service = await ServiceProcess.start({ flags });
  try {
    return await underLoad(kind, [service], options, async () => {
      const before = service.restarts();
      service.signal('SIGHUP');
      while (service.restarts() === before) await sleep(POLL_MS);
      return [];
    });
  } finally {
    await service.stop();
  }
}

/** Services on one PostgreSQL. One after the other is stopped and started again. */
async function runPlain(
  kind: ProxyProgram,
  options: DrillOptions,
  { instances, awayMs }: { instances: number; awayMs: number },
): Promise<DrillReport> {
  const postgres = await PostgresServer.start();
  const database = postgres.url();
  const drain = ['--drain-delay', DRAIN_DELAY_SECONDS];
  const services = [await ServiceProcess.start({ database, flags: drain })];
  const { key } = services[0] as ServiceProcess;
  while (services.length < instances) {
    services.push(await ServiceProcess.start({ database, key, flags: drain }));
  }
  try {
    return await underLoad(kind, services, options, async (restarts) => {
      const index = restarts % services.length;
      const service = services[index] as ServiceProcess;
      const violations = await service.stop();
      await sleep(awayMs);
      const flags = [...drain, '--port', String(service.port)];
      services[index] = await startAgain(() => ServiceProcess.start({ database, key, flags }));
      return violations;
    });
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

/** Sends requests through the proxy until there were enough of them, and enough restarts. */
async function underLoad(
  kind: ProxyProgram,
  services: readonly ServiceProcess[],
  { rounds, onProgress }: DrillOptions,
  restart: (restarts: number) => Promise<string[]>,
): Promise<DrillReport> {
  const { key, baseUrl } = services[0] as ServiceProcess;
  const proxy = await Proxy.configure(
    kind,
    services.map(({ port }) => port),
  );
  try {
    await proxy.start();
    let restarts = 0;
    const restartsMin = rounds < SHORT_BELOW ? 1 : RESTARTS_MIN;
    const load = new ProxyLoad(
      proxy,
      key,
      (requests) => requests < rounds || restarts < restartsMin,
    );
    const loading = load.run();
    for (; load.isRunning; restarts += 1) {
      await sleep(PAUSE_MS);
      onProgress(`${kind.name}: ${load.requests} requests, ${restarts} restarts`);
      load.creates.violations.push(...(await restart(restarts)));
    }
    await loading;
    await load.creates.compare(baseUrl, key);
    const { violations } = load.creates;
    const slowest = `slowest ${Math.round(load.slowestMs)} ms`;
    const figures = { requests: `${load.requests} in ${restarts} restarts, ${slowest}` };
    return { passed: load.requests - violations.length, violations, figures };
  } finally {
    await proxy.close();
  }
}

/** Half of the requests are HTTP/1.1, half are HTTP/2. No client sends a request again. */
class ProxyLoad {
  readonly creates = new Creates();
  requests = 0;
  slowestMs = 0;
  readonly #proxy: Proxy;
  readonly #authorization: string;
  readonly #isWanted: (requests: number) => boolean;
  readonly #untilMs = performance.now() + LOAD_MS_MAX;

  constructor(proxy: Proxy, key: string, isWanted: (requests: number) => boolean) {
    this.#proxy = proxy;
    this.#authorization = `Bearer ${key}`;
    this.#isWanted = isWanted;
  }

  get isRunning(): boolean {
    return this.#isWanted(this.requests) && performance.now() < this.#untilMs;
  }

  async run(): Promise<void> {
    const http1 = Array.from({ length: HTTP1_CLIENTS }, () => newHttp1Client(this.#proxy));
    const http2 = Array.from({ length: HTTP2_CLIENTS }, () => new Http2Client(this.#proxy));
    const streams = http2.flatMap((client) => Array<ProxyClient>(HTTP2_STREAMS).fill(client));
    const send = async (client: ProxyClient) => {
      while (this.isRunning) await this.#send(client);
    };
    await Promise.all([...http1, ...streams].map(send));
    for (const client of [...http1, ...http2]) client.close();
  }

  async #send(client: ProxyClient): Promise<void> {
    const isCreate = (this.requests += 1) % CREATE_EVERY === 0;
    const startedMs = performance.now();
    const headers = { authorization: this.#authorization };
    const name = isCreate ? this.creates.begin() : '';
    const what = isCreate ? `the create of ${name}` : 'a list';
    try {
      const body = JSON.stringify({ name, categoryId: 1 });
      const json = { ...headers, 'content-type': 'application/json', 'idempotency-key': name };
      const { status, text } = isCreate
        ? await client.send('POST', json, body)
        : await client.send('GET', headers);
      if (status !== (isCreate ? 201 : 200)) throw new Error(String(status));
      if (isCreate) this.creates.acknowledge(name, text);
    } catch (error) {
      this.creates.violations.push(`${what} failed: ${String(error)}`);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - startedMs);
  }
}
