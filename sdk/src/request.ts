import { PetStoreError } from './error.ts';
import { parseJson } from './json.ts';
import type { Call, Connection, Read } from './types.ts';

const RESPONSE_BYTES_MAX = 4 * 1024 * 1024;
const BACKOFF_MS_MAX = 10_000;

/** Sends the call until it succeeds, or until a retry cannot help. */
export async function send<Result>(
  connection: Connection,
  call: Call,
  read: Read<Result>,
): Promise<Result> {
  const deadline = performance.now() + connection.totalTimeoutMs;
  for (let attempt = 0; ; attempt += 1) {
    call.signal?.throwIfAborted();
    try {
      const remainingMs = Math.max(0, deadline - performance.now());
      return await sendOnce(connection, call, read, remainingMs);
    } catch (error) {
      if (attempt >= connection.retries || !isTemporary(error)) throw error;
      if (error.code === 'connection_lost' && mayBeBlocked(connection)) throw error;
      // Full jitter, so that clients that failed together do not retry together.
      const jitterMs = Math.random() * backoffMsMax(connection.backoffMs, attempt);
      const waitMs = jitterMs + (error.retryAfterMs ?? 0);
      if (performance.now() + waitMs >= deadline) throw error;
      await new Promise<void>((resolve) => {
        const cancel = callAfter(waitMs, call.signal, () => {
          cancel();
          resolve();
        });
      });
    }
  }
}

/** The longest delay after an attempt, which counts from 0. 2 to the power of 1024 would be Infinity. */
export function backoffMsMax(backoffMs: number, attempt: number): number {
  return Math.min(BACKOFF_MS_MAX, backoffMs * 2 ** Math.min(attempt, 30));
}

/** Whether a retry may succeed. An unreadable response, such as the error page of a proxy, counts as lost. */
function isTemporary(error: unknown): error is PetStoreError {
  if (!(error instanceof PetStoreError)) return false;
  const { code, status } = error;
  if (code === 'unreadable_response') return status >= 500 || (status >= 200 && status < 300);
  return status === 0 || status === 429 || status === 503;
}

/** The connections whose service has responded. */
const reached = new WeakSet<Connection>();

/** The origin of the page in which this runs, if it is not that of the service. */
function foreignOrigin({ baseUrl }: Connection): string | undefined {
  const origin = (globalThis as { location?: { origin?: string } }).location?.origin;
  return origin === new URL(baseUrl).origin ? undefined : origin;
}

/** A browser does not say whether it was the network or a service that does not allow the page. */
function mayBeBlocked(connection: Connection): boolean {
  return foreignOrigin(connection) !== undefined && !reached.has(connection);
}

async function sendOnce<Result>(
  connection: Connection,
  { operation, path, method = 'GET', headers, body, signal }: Call,
  read: Read<Result>,
  remainingMs: number,
): Promise<Result> {
  const { fetch, apiKey, baseUrl, timeoutMs, totalTimeoutMs, onResponse } = connection;
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const cancel = callAfter(Math.min(timeoutMs, remainingMs), signal, stop);
  try {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { Accept: 'application/json', Authorization: `Bearer ${apiKey}`, ...headers },
      body: body ?? null,
      // A redirect could send the key to another host. The service never redirects.
      redirect: 'manual',
      signal: controller.signal,
    });
    reached.add(connection);
    onResponse(operation, response.headers);
    return readResponse(response, await readBytes(response), read);
  } catch (cause) {
    if (cause instanceof PetStoreError) throw cause;
    signal?.throwIfAborted();
    const limitMs = timeoutMs < remainingMs ? timeoutMs : totalTimeoutMs;
    throw controller.signal.aborted
      ? new PetStoreError('timed_out', `No response within ${limitMs} ms.`, { cause })
      : new PetStoreError('connection_lost', lostMessage(connection, cause), { cause });
  } finally {
    cancel();
    stop(); // Releases a response that was not read to its end.
  }
}

function lostMessage(connection: Connection, cause: unknown): string {
  const message = `No response from ${connection.baseUrl}${reasonOf(cause)}`;
  if (!mayBeBlocked(connection)) return `${message}.`;
  const origin = foreignOrigin(connection);
  const remedy =
    origin === 'null'
      ? 'open the page from a web server'
      : `start it with --cors-origins ${origin}`;
  return `${message}: it is likely that it does not allow pages of ${origin} (CORS); ${remedy}.`;
}

/** Node.js has the code, such as ECONNREFUSED, in the cause of the error; Bun in the error. Browsers have none. */
function reasonOf(error: unknown): string {
  const { code, cause } = Object(error) as { code?: unknown; cause?: unknown };
  const reason = (Object(cause) as { code?: unknown }).code ?? code;
  return typeof reason === 'string' ? ` (${reason})` : '';
}

async function readBytes(response: Response): Promise<ArrayBuffer> {
  const reader = response.body?.getReader();
  const parts = [];
  let bytes = 0;
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    bytes += part.value.length;
    if (bytes > RESPONSE_BYTES_MAX) throw newError(response);
    parts.push(part.value);
  }
  return new Blob(parts).arrayBuffer();
}

function readResponse<Result>(response: Response, bytes: ArrayBuffer, read: Read<Result>): Result {
  let json: unknown;
  try {
    json = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (response.ok) return read(json, response.headers);
  } catch (cause) {
    throw newError(response, cause);
  }
  const { code, message } = Object(json) as Record<string, unknown>;
  throw response.status >= 400 && typeof code === 'string' && typeof message === 'string'
    ? newError(response, undefined, code, message)
    : newError(response);
}

/** Without a code and a message of the service, the response is unreadable. */
function newError(
  { status, headers }: Response,
  cause?: unknown,
  code = 'unreadable_response',
  message = `The response (status ${status}) is not from a Pet Store service.`,
): PetStoreError {
  const requestId = headers.get('x-request-id') ?? undefined;
  const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? '');
  return new PetStoreError(code, message, { status, requestId, retryAfterMs, cause });
}

/** Retry-After is a number of seconds, or a date. */
export function parseRetryAfter(text: string, now = Date.now()): number | undefined {
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

/** Calls back when the time is over and when the signal aborts. The result cancels both. */
function callAfter(
  waitMs: number,
  signal: AbortSignal | undefined,
  callback: () => void,
): () => void {
  const timer = setTimeout(callback, waitMs);
  signal?.addEventListener('abort', callback);
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', callback);
  };
}
