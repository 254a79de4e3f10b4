import { join } from 'node:path';
import type { Config } from './config.ts';
import { consolePages } from './console/pages.ts';
import { newApiKey, newSecret, type RandomBytes } from './domain/api-key.ts';
import type { Clock } from './domain/clock.ts';
import type { Store } from './domain/store.ts';
import { createApp, type Handle } from './http/app.ts';
import { createAuthenticate } from './http/authenticate.ts';
import { Cors } from './http/cors.ts';
import { KeyRing } from './http/key-ring.ts';
import { DEFAULT_SERVERS, openApiDocument } from './http/openapi.ts';
import { jsonResponse } from './http/message.ts';
import { PageCache } from './http/page-cache.ts';
import { healthPages, Pages } from './http/pages.ts';
import { createRateLimit } from './http/rate-limit.ts';
import { openServer } from './http/server.ts';
import { openRegistry } from './ops/exposition.ts';
import type { Log } from './ops/log.ts';
import { Metrics } from './ops/metrics.ts';
import { openStore } from './storage/open.ts';

/** What the service takes from the machine; a test passes its own. */
export interface Surroundings {
  clock: Clock;
  randomBytes: RandomBytes;
  newRequestId: () => string;
  log: Log;
}

export interface Service {
  /** How clients reach it, ending in /v1. */
  baseUrl: string;
  adminUrl: string | undefined;
  /** The first key, on the first start on an empty store; never again. */
  firstKey: string | undefined;
  close(): Promise<void>;
}

/** A request in flight gets this long to end when the service does. */
const DRAIN_GRACE_MS = 8_000;
const ADMIN_GRACE_MS = 500;
const LOOPBACK = '127.0.0.1';

export function storeFile(config: Config): string {
  return join(config.dataFolder, 'petstore.sqlite');
}

/** Joins the parts and opens the doors. Production and tests start the service the same way. */
export async function startService(config: Config, around: Surroundings): Promise<Service> {
  const { clock, log, newRequestId } = around;
  const store = await openStore({ databaseUrl: config.databaseUrl, file: storeFile(config) });
  const firstKey = await makeFirstKey(store, config, around);
  const keys = new KeyRing(store, clock);
  await keys.open();

  const metrics = new Metrics();
  let isDraining = false;
  const health = healthPages(async () => !isDraining && (await answers(store)));

  const createHandle = (port: number): Handle => {
    const baseUrl = baseUrlOf(config, port);
    const document = jsonResponse(
      200,
      JSON.stringify(openApiDocument({ ...DEFAULT_SERVERS, [config.environment]: baseUrl })),
    );
    return createApp({
      store,
      authenticate: createAuthenticate({ environment: config.environment, keys, clock }),
      countRequest: config.rateLimit && createRateLimit(config.rateLimit),
      cors: new Cors(config.corsOrigins),
      pages: new Pages(new Map([...consolePages(), ['/openapi.json', () => document], ...health])),
      cache: new PageCache(() => store.version()),
      clock,
      baseUrl,
      metrics,
      log,
      newRequestId,
    });
  };

  const server = await openServer({
    createHandle,
    host: config.host,
    port: config.port,
    newRequestId,
  });
  const admin = config.adminPort === undefined ? undefined : await openAdmin(config.adminPort);

  async function openAdmin(port: number) {
    const registry = openRegistry(metrics);
    const pages = new Pages(
      new Map([
        [
          '/metrics',
          async () => ({
            status: 200,
            headers: ['Content-Type', registry.contentType],
            body: await registry.metrics(),
          }),
        ],
        ...health,
      ]),
    );
    return openServer({
      createHandle: () => (request) => pages.answer(request, request.target),
      host: LOOPBACK,
      port,
      newRequestId,
    });
  }

  const baseUrl = baseUrlOf(config, server.port);
  return {
    baseUrl,
    adminUrl: admin && `http://${LOOPBACK}:${admin.port}`,
    firstKey,
    async close() {
      isDraining = true;
      await server.close(DRAIN_GRACE_MS);
      await keys.close();
      await store.close();
      await admin?.close(ADMIN_GRACE_MS);
      log.info('stopped');
    },
  };
}

async function makeFirstKey(
  store: Store,
  { environment, bootstrapKey }: Config,
  { clock, randomBytes }: Surroundings,
): Promise<string | undefined> {
  const { secret, record } = newApiKey({
    secret: bootstrapKey ?? newSecret(environment, randomBytes),
    name: 'first key',
    now: clock.now(),
    randomBytes,
  });
  return (await store.createFirstApiKey(record)) ? secret : undefined;
}

function baseUrlOf({ baseUrl, host }: Config, port: number): string {
  if (baseUrl !== undefined) return baseUrl;
  // Listening on every address does not tell which one a client should use.
  const reachable = host === '0.0.0.0' || host === '::' ? LOOPBACK : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}/v1`;
}

async function answers(store: Store): Promise<boolean> {
  try {
    await store.ping();
    return true;
  } catch {
    return false;
  }
}
