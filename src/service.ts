import { join } from 'node:path';
import { UsageError, type Config } from './config.ts';
import { consolePages } from './console/pages.ts';
import { newApiKey, newSecret, type RandomBytes } from './domain/api-key.ts';
import type { Clock } from './domain/clock.ts';
import type { Store } from './domain/store.ts';
import { App, type Handle } from './http/app.ts';
import { createAuthenticate } from './http/authenticate.ts';
import { Cors } from './http/cors.ts';
import { KeyRing } from './http/key-ring.ts';
import { DEFAULT_SERVERS, openApiDocument } from './http/openapi.ts';
import { jsonResponse } from './http/message.ts';
import { PageCache } from './http/page-cache.ts';
import { healthPages, Pages, type Page } from './http/pages.ts';
import { createRateLimit } from './http/rate-limit.ts';
import { openServer, type HttpServer, type ServerParts } from './http/server.ts';
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
  // What was opened is closed in reverse, at the end or when a later part cannot be opened.
  await using opened = new AsyncDisposableStack();
  const metrics = new Metrics();
  const readiness = { isReady: async () => false };
  const health = healthPages(() => readiness.isReady());

  const admin =
    config.adminPort === undefined
      ? undefined
      : await openDoor('--admin-port', {
          createHandle: () => adminHandle(metrics, health, newRequestId),
          host: LOOPBACK,
          port: config.adminPort,
          newRequestId,
        });
  opened.defer(async () => admin?.close(ADMIN_GRACE_MS));

  const store = await openStore({ databaseUrl: config.databaseUrl, file: storeFile(config) });
  opened.defer(() => store.close());
  const firstKey = await makeFirstKey(store, config, around);
  const keys = new KeyRing(store, clock);
  await keys.open();
  opened.defer(() => keys.close());

  const server = await openDoor('--port', {
    createHandle: (port) => {
      const app = new App({
        store,
        authenticate: createAuthenticate({ environment: config.environment, keys, clock }),
        countRequest: config.rateLimit && createRateLimit(config.rateLimit),
        cors: new Cors(config.corsOrigins),
        pages: publicPages(config, baseUrlOf(config, port), health),
        cache: new PageCache(() => store.version()),
        clock,
        baseUrl: baseUrlOf(config, port),
        metrics,
        log,
        newRequestId,
      });
      return (request) => app.handle(request);
    },
    host: config.host,
    port: config.port,
    newRequestId,
  });
  opened.defer(() => server.close(DRAIN_GRACE_MS));

  readiness.isReady = () => answers(store);
  opened.defer(async () => {
    readiness.isReady = async () => false;
  });
  const everything = opened.move();
  return {
    baseUrl: baseUrlOf(config, server.port),
    adminUrl: admin && `http://${LOOPBACK}:${admin.port}`,
    firstKey,
    close: () => everything.disposeAsync(),
  };
}

type NamedPage = [path: string, page: Page];

function publicPages(config: Config, baseUrl: string, health: NamedPage[]): Pages {
  const servers = { ...DEFAULT_SERVERS, [config.environment]: baseUrl };
  const document = jsonResponse(200, JSON.stringify(openApiDocument(servers)));
  return new Pages(new Map([...consolePages(), ['/openapi.json', () => document], ...health]));
}

/** What operators see, on the loopback address only. */
function adminHandle(metrics: Metrics, health: NamedPage[], newRequestId: () => string): Handle {
  const registry = openRegistry(metrics);
  const exposition: Page = async () => ({
    status: 200,
    headers: ['Content-Type', registry.contentType],
    body: await registry.metrics(),
  });
  const pages = new Pages(new Map([['/metrics', exposition], ...health]));
  return async (request) => {
    const { headers, ...answer } = await pages.answer(request, request.target);
    return { ...answer, headers: [...headers, 'X-Request-Id', newRequestId()] };
  };
}

async function openDoor(flag: string, parts: ServerParts): Promise<HttpServer> {
  try {
    return await openServer(parts);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (
      code === undefined ||
      !['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(code)
    )
      throw error;
    throw new UsageError(
      `cannot listen on ${parts.host} port ${parts.port} (${code}): ${flag} must be a port that is free and allowed${flag === '--port' ? ', and --host an address of this machine' : ', or off'}.`,
    );
  }
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
