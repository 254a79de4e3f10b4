import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import { consolePages } from './web/console/pages.ts';
import type { DocumentedService } from './web/docs/contents.ts';
import { docsPages } from './web/docs/pages.ts';
import { notFoundPage } from './web/not-found.ts';
import { newApiKey, newSecret, SCOPES, type RandomBytes } from './domain/api-key.ts';
import type { Clock } from './domain/clock.ts';
import { ERRORS, Refusal } from './domain/errors.ts';
import { Metrics, type Figure, type Measured } from './ops/metrics.ts';
import type { Store } from './domain/store.ts';
import { newStoreIdentity } from './domain/store-identity.ts';
import { helpLinks } from './http/error-response.ts';
import { App } from './http/app.ts';
import { createAuthenticate } from './http/authenticate.ts';
import { Cors } from './http/cors.ts';
import { KeyRing } from './http/key-ring.ts';
import { KeyUses } from './http/key-uses.ts';
import { openApiDocument } from './http/openapi.ts';
import { jsonResponse, type HttpResponse } from './http/message.ts';
import { METRIC_SERIES } from './http/operations.ts';
import { NOT_FOUND, type PublicPages } from './http/pages.ts';
import { RateLimiter, wholeLimit, type CountRequest } from './http/rate-limit.ts';
import { ResponseCache } from './http/response-cache.ts';
import type { ServerParts } from './http/wire/server.ts';
import type { Log } from './ops/log.ts';
import { openRuntimeFigures, processFigures } from './ops/process-figures.ts';
import { openAdmin } from './admin.ts';
import { healthPages } from './http/health.ts';
import { VERSION } from './ops/installation.ts';
import { baseUrlOf, listen } from './listen.ts';
import { nameOfStore, openConfiguredStore } from './open-store.ts';
import { parseAddress } from './storage/postgres/address.ts';
import type { SqliteOptions } from './storage/sqlite/store.ts';

/** What the service needs from its process. Tests pass their own. */
export interface Runtime {
  clock: Clock;
  randomBytes: RandomBytes;
  newRequestId: () => string;
  log: Log;
  /** The log of every request. Undefined if it is off. */
  accessLog?: Log | undefined;
  clientTimeouts?: ServerParts['timeouts'];
  /** Whether this process is a worker. It creates no store: the primary has done that. */
  isWorker: boolean;
  /** Ends a start that waits for its database. The reason is the error. */
  stop?: AbortSignal;
}

export interface Service {
  /** The URL for clients. Ends in /v1. */
  baseUrl: string;
  adminUrl: string | undefined;
  /** The first key, if this start has created it in an empty store. */
  firstKey: string | undefined;
  figures: () => Figure[];
  /** Resolves with the reason when the store can no longer be used: the process must close the service and end. */
  failed: Promise<string>;
  /** From now on `/readyz` is 503. Requests are still accepted. */
  setNotReady(): void;
  /** Accepts no more connections. Existing ones stay open until the service is closed. */
  stopListening(): Promise<void>;
  /** Requests in flight may take this long. */
  close(graceMs?: number): Promise<void>;
}

const DRAIN_GRACE_MS = 8_000;
/** For a service whose store has failed: it refuses every request. */
export const FAILED_GRACE_MS = 1_000;
/** The pause between two attempts to reach a database that is away. */
const RETRY_MS = 1_000;

/** Workers leave it to their primary. */
function warnOfPlainText({ databaseUrl }: Config, { log, isWorker }: Runtime): void {
  if (isWorker || databaseUrl === undefined || !parseAddress(databaseUrl).isPlainByDefault) return;
  log.warn(
    'the password and all animals cross the network in plain text: add sslmode=verify-full to DATABASE_URL, or sslmode=disable for a network that you trust',
  );
}

/** Only the service migrates a store. */
function openServedStore(
  config: Config,
  { clock, randomBytes, isWorker, log }: Runtime,
  onFatal?: SqliteOptions['onFatal'],
): Promise<Store & Measured> {
  const identity = newStoreIdentity(config.environment, { now: clock.now(), randomBytes });
  return openConfiguredStore(config, {
    // If the store that the primary has created is gone, no worker may create an empty one in its place.
    ...(!isWorker && { identity }),
    onWarning: (message) => log.warn(message),
    onRefused: (message) => log.error(message),
    onFatal,
  });
}

/** Repeats an attempt while the database is away, and logs each new reason once. */
async function whenReachable<Result>(
  { databaseUrl }: Config,
  { log, stop }: Runtime,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let reason = ''; ;) {
    stop?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (databaseUrl === undefined || !(error instanceof Refusal)) throw error;
      if (error.message !== reason) log.warn({ reason: error.message }, 'waiting for the database');
      reason = error.message;
      await sleep(RETRY_MS);
    }
  }
}

/** Joins the parts and starts listening. Production and tests start the service the same way. */
export async function startService(config: Config, runtime: Runtime): Promise<Service> {
  // Parts are closed in reverse order, at the end or when a later part cannot be opened.
  await using opened = new AsyncDisposableStack();
  const { measured, readiness, ...base } = await openBase(config, runtime, opened);
  const parts = await openRequestParts(config, runtime, { ...base, opened });
  measured.push(parts.keys, parts.cache);

  runtime.stop?.throwIfAborted();
  const { isReady } = readiness;
  const server = await listen('', {
    createHandler: (port) => newApp(config, runtime, { ...parts, port, isReady }),
    ...refusalReports(base.metrics, runtime),
    host: config.host,
    port: config.port,
    newRequestId: runtime.newRequestId,
    helpLink: helpLinks(config.baseUrl ?? '/v1'),
    timeouts: runtime.clientTimeouts,
  });
  opened.defer(() => server.close(FAILED_GRACE_MS));
  measured.push(server);
  const firstKey = runtime.isWorker ? undefined : await addFirstKey(base.store, config, runtime);
  readiness.set(true);
  const everything = opened.move();
  return {
    baseUrl: baseUrlOf(config, server.port),
    adminUrl: base.adminUrl,
    firstKey: base.chosenKey ?? firstKey,
    figures: base.figures,
    failed: base.failed,
    setNotReady: () => readiness.set(false),
    stopListening: () => server.stopListening(),
    async close(graceMs = DRAIN_GRACE_MS) {
      readiness.set(false);
      await server.close(graceMs);
      await everything.disposeAsync();
    },
  };
}

/** Creates or migrates the store: workers begin none. */
export async function prepareStore(config: Config, runtime: Runtime): Promise<void> {
  await using opened = new AsyncDisposableStack();
  await openBase(config, runtime, opened);
}

/** Creates the first key of a store that workers serve, if it has none. */
export async function createFirstKey(
  config: Config,
  runtime: Runtime,
): Promise<string | undefined> {
  const store = await whenReachable(config, runtime, () => openServedStore(config, runtime));
  await using _ = { [Symbol.asyncDispose]: () => store.close() };
  return await addFirstKey(store, config, runtime);
}

/** Opens the admin port, and then the store: `/livez` responds while the database is away. */
async function openBase(config: Config, runtime: Runtime, opened: AsyncDisposableStack) {
  const metrics = new Metrics(METRIC_SERIES);
  const measured: Measured[] = [processFigures(VERSION), metrics];
  const figures = () => measured.flatMap((part) => part.figures());
  const readiness = newReadiness(() => store.ping());
  const admin = await openAdmin(config, runtime, {
    figures,
    scrapedFigures: lazyRuntimeFigures(),
    isReady: readiness.isReady,
    storeName: nameOfStore(config),
  });
  opened.defer(async () => admin?.close());

  const failure = Promise.withResolvers<string>();
  warnOfPlainText(config, runtime);
  const store = await whenReachable(config, runtime, () =>
    openServedStore(config, runtime, failure.resolve),
  );
  opened.defer(() => store.close());
  measured.push(store);
  // Who has chosen it may use it as soon as the port is open.
  const { bootstrapKey } = config;
  const chosenKey = bootstrapKey && (await addFirstKey(store, config, runtime));
  const adminUrl = admin?.url;
  return {
    adminUrl,
    store,
    chosenKey,
    metrics,
    measured,
    figures,
    readiness,
    failed: failure.promise,
  };
}

/** Ready while it is set and the store responds. */
function newReadiness(ping: () => Promise<void>) {
  let isSet = false;
  return {
    set(isReady: boolean): void {
      isSet = isReady;
    },
    isReady: async () => isSet && (await ping().then(() => true)),
  };
}

/** Reports the requests and connections that the app never sees. */
function refusalReports(
  metrics: Metrics,
  { log, accessLog }: Runtime,
): Pick<ServerParts, 'onRefusal' | 'onInvalidResponse' | 'onDrop' | 'onClosedForRoom'> {
  return {
    onRefusal(code, requestId, address) {
      metrics.error(code);
      accessLog?.info({ requestId, address, status: ERRORS[code].status, code }, 'access');
    },
    onInvalidResponse(error, requestId) {
      metrics.error('internal_error');
      log.error({ requestId, err: error }, 'a response could not be sent');
    },
    onDrop(connectionsMax) {
      log.error({ connectionsMax }, 'connections are refused because there are too many');
    },
    onClosedForRoom(closed) {
      log.warn(closed, 'connections were closed because memory or places ran short');
    },
  };
}

/** What requests use. */
interface RequestParts {
  store: Store;
  metrics: Metrics;
  keys: KeyRing;
  keyUses: KeyUses;
  cache: ResponseCache;
  countRequest: CountRequest | undefined;
}

/** Opens the parts between the app and the store. */
async function openRequestParts(
  config: Config,
  runtime: Runtime,
  { store, metrics, opened }: { store: Store; metrics: Metrics; opened: AsyncDisposableStack },
): Promise<RequestParts> {
  const keys = new KeyRing(store, runtime.clock);
  await keys.open();
  opened.defer(() => keys.close());
  const keyUses = new KeyUses(store, runtime.clock);
  opened.defer(() => keyUses.close());
  const countRequest = newRateLimit(config, runtime, store);
  const cache = new ResponseCache(store);
  return { store, metrics, keys, keyUses, cache, countRequest };
}

function newApp(
  config: Config,
  runtime: Runtime,
  { port, keys, ...parts }: RequestParts & { port: number; isReady: () => Promise<boolean> },
): App {
  const { environment, corsOrigins } = config;
  const { clock } = runtime;
  // Without a configured URL, links are paths: only the client knows the address that it has used.
  const linkBase = config.baseUrl ?? '/v1';
  return new App({
    ...runtime,
    ...parts,
    authenticate: createAuthenticate({ environment, keys, clock }),
    cors: corsOrigins.length > 0 ? new Cors(corsOrigins) : undefined,
    pages: publicPages({ ...config, baseUrl: baseUrlOf(config, port), linkBase }, parts.isReady),
    baseUrl: linkBase,
  });
}

/** The counters are in the database, or in this process. */
function newRateLimit(
  { rateLimit }: Config,
  { clock }: Runtime,
  store: Store,
): CountRequest | undefined {
  if (rateLimit === undefined) return undefined;
  const portions = store.portions?.(rateLimit) ?? wholeLimit(rateLimit);
  const limiter = new RateLimiter(rateLimit, portions, clock);
  return (keyId) => limiter.count(keyId);
}

function publicPages(service: DocumentedService, isReady: () => Promise<boolean>): PublicPages {
  let document: HttpResponse | undefined;
  const openApi = () =>
    (document ??= jsonResponse(200, JSON.stringify(openApiDocument(service.linkBase))));
  return new Map([
    ...consolePages(service.environment),
    ...docsPages(service),
    [NOT_FOUND, notFoundPage],
    ['/openapi.json', openApi],
    ...healthPages(isReady),
  ]);
}

/** Measured from the first scrape on, because many services never get one. */
function lazyRuntimeFigures(): () => Figure[] {
  let runtime: Measured | undefined;
  return () => (runtime ??= openRuntimeFigures()).figures();
}

/** A generated key is added once the service listens: a start that fails before would add one that nobody sees. */
function addFirstKey(store: Store, config: Config, runtime: Runtime): Promise<string | undefined> {
  const { environment, bootstrapKey, hasAccessLog } = config;
  const { clock, randomBytes } = runtime;
  return whenReachable(config, runtime, async () => {
    // Usually there is a key, and reading costs less than an attempt to write.
    if ((await store.listApiKeys()).length > 0) return undefined;
    // Standard output is then a log, and a key must not be logged.
    if (bootstrapKey === undefined && hasAccessLog) return undefined;
    const secret = bootstrapKey ?? newSecret(environment, randomBytes);
    const record = newApiKey({
      secret,
      name: 'first key',
      scopes: SCOPES,
      now: clock.now(),
      randomBytes,
    });
    return (await store.createFirstApiKey(record)) ? secret : undefined;
  });
}
