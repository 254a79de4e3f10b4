import { PetStoreError } from './error.ts';
import { parseJson } from './json.ts';
import type { Call, Connection, Read } from './types.ts';

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const BACKOFF_MS_MAX = 10_000;

/** Sends the call until it is answered, or until trying again is of no use. */
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
      if (attempt >= connection.retries || !isPassing(error)) throw error;
      // Full jitter: clients that were turned away together do not come back together.
      const backoffMs = Math.min(BACKOFF_MS_MAX, connection.backoffMs * 2 ** Math.min(attempt, 30));
      const waitMs = Math.random() * backoffMs + (error.retryAfterMs ?? 0);
      if (performance.now() + waitMs >= deadline) throw error;
      await pause(waitMs, call.signal);
    }
  }
}

/** Whether the same request may well succeed later; an answer in a proxy's own words counts as lost. */
function isPassing(error: unknown): error is PetStoreError {
  if (!(error instanceof PetStoreError)) return false;
  const { code, status } = error;
  if (code === 'unreadable_answer') return status >= 500 || (status >= 200 && status < 300);
  return code === 'connection_lost' || code === 'timed_out' || status === 429 || status === 503;
}

async function sendOnce<Result>(
  { fetch, apiKey, baseUrl, timeoutMs, totalTimeoutMs, onAnswer }: Connection,
  { operation, path, method = 'GET', headers, body, signal }: Call,
  read: Read<Result>,
  remainingMs: number,
): Promise<Result> {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const timer = setTimeout(stop, Math.min(timeoutMs, remainingMs));
  signal?.addEventListener('abort', stop);
  try {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { Accept: 'application/json', Authorization: `Bearer ${apiKey}`, ...headers },
      body: body ?? null,
      // A redirect could carry the key to another host, and the service never sends one.
      redirect: 'manual',
      signal: controller.signal,
    });
    onAnswer(operation, response.headers);
    return readAnswer(response, await readBytes(response), read);
  } catch (cause) {
    if (cause instanceof PetStoreError) throw cause;
    signal?.throwIfAborted();
    const spanMs = timeoutMs < remainingMs ? timeoutMs : totalTimeoutMs;
    throw controller.signal.aborted
      ? new PetStoreError('timed_out', `No answer within ${spanMs} ms.`, { cause })
      : new PetStoreError('connection_lost', `No answer came from ${baseUrl}.`, { cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    stop(); // Lets go of an answer that was not read to its end.
  }
}

async function readBytes(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  let bytes = new Uint8Array(0);
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    const longer = new Uint8Array(bytes.length + part.value.length);
    if (longer.length > ANSWER_BYTES_MAX) throw unreadable(response);
    longer.set(bytes);
    longer.set(part.value, bytes.length);
    bytes = longer;
  }
  return bytes;
}

function readAnswer<Result>(response: Response, bytes: Uint8Array, read: Read<Result>): Result {
  let json: unknown;
  try {
    json = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (response.ok) return read(json, response.headers);
  } catch (cause) {
    throw unreadable(response, cause);
  }
  const { code, message } = Object(json) as Record<string, unknown>;
  throw response.status >= 400 && typeof code === 'string' && typeof message === 'string'
    ? newError(code, message, response)
    : unreadable(response);
}

function unreadable(response: Response, cause?: unknown): PetStoreError {
  const message = `The answer (status ${response.status}) is not one of a Pet Store service.`;
  return newError('unreadable_answer', message, response, cause);
}

function newError(
  code: string,
  message: string,
  response: Response,
  cause?: unknown,
): PetStoreError {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? undefined;
  const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? '');
  return new PetStoreError(code, message, { status, requestId, retryAfterMs, cause });
}

/** Retry-After is a number of seconds, or a date. */
export function parseRetryAfter(text: string, now = Date.now()): number | undefined {
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, waitMs);
    signal?.addEventListener('abort', finish);
    function finish(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    }
  });
}
