import { isIP } from 'node:net';
import type { Config } from './config.ts';
import type { Clock } from './domain/clock.ts';
import { Refusal } from './domain/errors.ts';
import type { Figure } from './ops/metrics.ts';
import { UsageError } from './setting.ts';
import { errorResponse, notFound } from './http/error-response.ts';
import { healthPages } from './http/health.ts';
import { requestIdOf, type HttpRequest, type HttpResponse } from './http/message.ts';
import { respondWithPage, type Page } from './http/pages.ts';
import { parseTarget } from './http/target.ts';
import { baseUrlOf, isLoopback, listen, localUrl } from './listen.ts';
import { openMonitor } from './web/monitor/monitor.ts';
import { EXPOSITION_TYPE, expositionOf } from './ops/exposition.ts';
import type { Log } from './ops/log.ts';

const ADMIN_GRACE_MS = 500;

interface Admin {
  url: string;
  close(): Promise<void>;
}

interface AdminRuntime {
  clock: Clock;
  newRequestId: () => string;
  log: Log;
  /** Whether the figures are those of one of several workers. */
  isWorker: boolean;
}

interface AdminParts {
  figures: () => Figure[];
  /** More figures, which only a scrape reads. */
  scrapedFigures: () => Figure[];
  isReady: () => Promise<boolean>;
  /** For the monitor: without a password. */
  storeName: string;
}

/**
 * Opens the admin port. Returns undefined if the setting is off, or if the default port is in use, so that a
 * second service on the same machine starts without another flag.
 */
export async function openAdmin(
  config: Config,
  runtime: AdminRuntime,
  { scrapedFigures, ...parts }: AdminParts,
): Promise<Admin | undefined> {
  const { adminPort, adminHost, isAdminGiven } = config;
  const { newRequestId, log } = runtime;
  if (adminPort === undefined) return undefined;
  const metricsPage: Page = () => {
    const body = expositionOf([...parts.figures(), ...scrapedFigures()]);
    return { status: 200, headers: ['Content-Type', EXPOSITION_TYPE], body };
  };
  const monitor = openMonitor({
    ...parts,
    environment: config.environment,
    storeKind: config.databaseUrl === undefined ? 'SQLite' : 'PostgreSQL',
    baseUrl: knownBaseUrl(config),
    isWorker: runtime.isWorker,
    clock: runtime.clock,
  });
  const health = healthPages(parts.isReady);
  const pages = new Map([['/metrics', metricsPage], ...health, ...monitor.pages]);
  const handle = newHandle(config, runtime, pages);
  const createHandler = () => ({ handle });
  const place = { host: adminHost, port: adminPort, isExclusive: true };
  try {
    const server = await listen('admin-', { ...place, createHandler, newRequestId });
    monitor.start();
    if (!isLoopback(adminHost)) {
      log.warn(
        { adminHost, adminPort: server.port },
        'everyone who can reach the admin port can read the metrics: protect it with a firewall',
      );
    }
    const close = async () => {
      monitor.close();
      await server.close(ADMIN_GRACE_MS);
    };
    return { url: localUrl(adminHost, server.port), close };
  } catch (error) {
    if (isAdminGiven || !(error instanceof UsageError)) throw error;
    return undefined;
  }
}

/** Responds with one of the pages, and with a request id. */
function newHandle(
  config: Config,
  { newRequestId, log }: AdminRuntime,
  pages: ReadonlyMap<string, Page>,
): (request: HttpRequest) => Promise<HttpResponse> {
  const respond = async (request: HttpRequest): Promise<HttpResponse> => {
    if (request.fault !== undefined) throw request.fault;
    requireKnownHost(request.headers['host'], config.adminHost);
    const { path } = parseTarget(request.target);
    return pages.has(path) ? respondWithPage(pages, request, path) : notOnAdminPort(config);
  };
  return async (request) => {
    const { headers, ...response } = await respond(request).catch((fault: unknown) => {
      if (fault instanceof Refusal) return errorResponse(fault.code, fault.message);
      log.error({ err: fault }, 'the admin page failed');
      return errorResponse('internal_error', 'The service failed; its log has the cause.');
    });
    const requestId = requestIdOf(request.headers, newRequestId);
    return { ...response, headers: [...headers, 'X-Request-Id', requestId], requestId };
  };
}

function notOnAdminPort(config: Config): HttpResponse {
  const baseUrl = knownBaseUrl(config);
  const place = baseUrl === undefined ? 'on the port that the log names' : `at ${baseUrl}`;
  return notFound(`This is the admin port; the interface is ${place}.`);
}

/** Undefined with port 0: the system chooses the port, after the admin port was opened. */
function knownBaseUrl(config: Config): string | undefined {
  const isKnown = config.baseUrl !== undefined || config.port !== 0;
  return isKnown ? baseUrlOf(config, config.port) : undefined;
}

/**
 * Another Host shows DNS rebinding: a web page has bound its own name to this address to read the admin pages.
 * An IP address cannot be rebound, so it is accepted wherever other machines may connect.
 */
function requireKnownHost(host: string | undefined, adminHost: string): void {
  const name = host
    ?.replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  if (name === undefined || isLoopback(name) || name === adminHost.toLowerCase()) return;
  const isLocal = isLoopback(adminHost);
  if (!isLocal && isIP(name) !== 0) return;
  const known = isLocal
    ? '127.0.0.1, [::1] or localhost'
    : `an IP address, localhost or ${adminHost}`;
  throw new Refusal('malformed_request', `The Host must be ${known}.`);
}
