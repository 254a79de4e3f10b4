import { SETTINGS, type Config, type SettingName } from './config.ts';
import { UsageError } from './setting.ts';
import { errorResponse } from './http/error-response.ts';
import { jsonResponse, requestIdOf } from './http/message.ts';
import type { HttpRequest, HttpResponse, Page } from './http/message.ts';
import { parseTarget, respondWithPage } from './http/router.ts';
import { openServer, type HttpServer, type ServerParts } from './http/server.ts';
import type { Exposition } from './ops/exposition.ts';
import type { Log } from './ops/log.ts';

const LOOPBACK = '127.0.0.1';
const ADMIN_GRACE_MS = 500;
/** Another Host shows DNS rebinding: a web page bound its own name to 127.0.0.1 to read the admin pages. */
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::\d*)?$/i;

export interface Admin {
  url: string;
  close(): Promise<void>;
}

/**
 * Opens the admin port, on the loopback address only. Returns undefined if the setting is off, or if the
 * default port is in use, so that a second service on the same machine starts without another flag.
 */
export async function openAdmin(
  { adminPort, isAdminPortGiven }: Config,
  { newRequestId, log }: { newRequestId: () => string; log: Log },
  { expose, isReady }: { expose: () => Promise<Exposition>; isReady: () => Promise<boolean> },
): Promise<Admin | undefined> {
  if (adminPort === undefined) return undefined;
  const metricsPage: Page = async () => {
    const found = await expose();
    return { status: 200, headers: ['Content-Type', found.contentType], body: await found.text() };
  };
  const pages = new Map([['/metrics', metricsPage], ...healthPages(isReady)]);
  const respond = async (request: HttpRequest): Promise<HttpResponse> => {
    const { host } = request.headers;
    if (host !== undefined && !LOOPBACK_HOST.test(host)) {
      return errorResponse('malformed_request', 'The Host must be 127.0.0.1, [::1] or localhost.');
    }
    return respondWithPage(pages, request, parseTarget(request.target).path);
  };
  const handle = async (request: HttpRequest): Promise<HttpResponse> => {
    const { headers, ...response } = await respond(request).catch((fault: unknown) => {
      log.error({ err: fault }, 'the admin page failed');
      return errorResponse('internal_error', 'The service failed; its log has the cause.');
    });
    const requestId = requestIdOf(request.headers, newRequestId);
    return { ...response, headers: [...headers, 'X-Request-Id', requestId] };
  };
  const createHandler = () => ({ handle });
  const parts = { createHandler, host: LOOPBACK, port: adminPort, newRequestId };
  try {
    const server = await listen('admin-port', parts);
    const url = `http://${LOOPBACK}:${server.port}`;
    return { url, close: () => server.close(ADMIN_GRACE_MS) };
  } catch (error) {
    if (isAdminPortGiven || !(error instanceof UsageError)) throw error;
    return undefined;
  }
}

/** `/livez` says whether the process runs, `/readyz` whether it can serve requests. */
export function healthPages(isReady: () => Promise<boolean>): [path: string, page: Page][] {
  const ok = jsonResponse(200, '{"status":"ok"}', ['Cache-Control', 'no-store']);
  const notReady = errorResponse('unavailable', 'The service is not ready; try again shortly.');
  return [
    ['/livez', () => ok],
    ['/readyz', async () => ((await isReady()) ? ok : notReady)],
  ];
}

/** The address of the service that has these settings, for a client on the same machine. */
export function localUrl(host: string, port: number): string {
  // Listening on every address does not tell which one a client should use.
  const reachable = host === '0.0.0.0' || host === '::' ? LOOPBACK : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

const flag = (name: SettingName) => `--${name} (${SETTINGS[name].variable})`;

/** Listens, or throws a UsageError that names the wrong setting. */
export async function listen(name: SettingName, parts: ServerParts): Promise<HttpServer> {
  try {
    return await openServer(parts);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const { host, port } = parts;
    const noAddress = `${host} is not an address of this machine: ${flag('host')} must be one`;
    const messages: Record<string, string> = {
      EADDRINUSE: `port ${port} of ${host} is already in use: ${flag(name)} must be a free port`,
      EACCES: `this user may not listen on port ${port}: ${flag(name)} must be another port`,
      EADDRNOTAVAIL: noAddress,
      ENOTFOUND: noAddress,
    };
    if (messages[code] === undefined) throw error;
    throw new UsageError(`${messages[code]}.`);
  }
}
