import { Refusal } from '../domain/errors.ts';
import { parsePetId } from '../domain/pet.ts';
import type { Log } from '../ops/log.ts';
import { bytesOf, type HttpResponse } from './message.ts';
import type { RequestContext } from './operation.ts';

export interface Outcome {
  response: HttpResponse;
  durationMs: number;
  error: unknown;
}

const SLOW_REQUEST_MS = 1_000;
/** A client may send a header of any length. */
const FORWARDED_FOR_LENGTH_MAX = 256;
const TRACE_PARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

/** After a failed or slow request was logged, others of its kind are only counted for this long. */
const COUNTED_MS = 10_000;

/**
 * Writes one line for each failed or slow request, and at level debug for every other; and one for each to the
 * access log, if there is one. A line never contains a key, a body, a query or an Authorization header.
 *
 * Anybody can cause any number of refused and slow requests. Only the first of each kind and cause has a line with
 * its id. Those that follow are counted, and the count is written at the end of the interval.
 */
export class RequestLog {
  readonly #log: Log;
  readonly #accessLog: Log | undefined;
  readonly #counts = new Map<string, number>();

  constructor(log: Log, accessLog?: Log) {
    this.#log = log;
    this.#accessLog = accessLog;
  }

  add(context: RequestContext, { response, durationMs, error }: Outcome): void {
    const { status, code } = response;
    // A malformed request is no failure of the service, even if its status is 501 or 505; nor is /readyz before a
    // planned stop, a 503 without an error.
    const hasFailed = status >= 500 && error !== undefined && error !== context.request.fault;
    const isSlow = durationMs >= SLOW_REQUEST_MS;
    const level = hasFailed ? 'error' : isSlow ? 'warn' : 'debug';
    const isLogged = this.#log.isLevelEnabled(level);
    // Its fields are made only if the line is written: by default, few are.
    if (!isLogged && this.#accessLog === undefined) return;
    const operation = context.operation?.id;
    const fields = {
      requestId: context.requestId,
      traceId: TRACE_PARENT.exec(context.request.headers['traceparent'] ?? '')?.[1],
      keyId: context.keyId || undefined,
      method: context.request.method,
      operation,
      status,
      durationMs: Math.round(durationMs * 1000) / 1000,
    };
    this.#accessLog?.info({ ...fields, code, ...accessFields(context, response) }, 'access');
    if (!isLogged) return;
    const message = hasFailed ? 'request failed' : isSlow ? 'request was slow' : 'request';
    // An error of another type is a defect of the service, and each one has its cause in the log.
    const isForeseen = error === undefined || error instanceof Refusal;
    const cause = error instanceof Refusal ? (error.cause ?? error.message) : error;
    if (isForeseen && !this.#log.isLevelEnabled('debug')) {
      // Without ids and times, of which there are any number.
      const words = hasFailed ? String(cause).replaceAll(/\d+/g, '…') : undefined;
      if (this.#isRepeated({ operation, status, code, cause: words }, level, message)) return;
    }
    this.#log[level]({ ...fields, err: hasFailed ? cause : undefined }, message);
  }

  #isRepeated(kind: object, level: 'error' | 'warn' | 'debug', message: string): boolean {
    const name = `${message} ${JSON.stringify(kind)}`;
    const count = this.#counts.get(name);
    this.#counts.set(name, (count ?? -1) + 1);
    if (count !== undefined) return true;
    setTimeout(() => {
      const repeated = { ...kind, count: this.#counts.get(name), seconds: COUNTED_MS / 1000 };
      this.#counts.delete(name);
      if (repeated.count !== 0) this.#log[level](repeated, `${message}: repeated`);
    }, COUNTED_MS).unref();
    return false;
  }
}

/** Who sent the request, and what it was about. `X-Forwarded-For` is only logged, because anybody can send it. */
function accessFields(
  { request, route, petId, pathParameter }: RequestContext,
  response: HttpResponse,
) {
  return {
    address: request.address,
    forwardedFor: request.headers['x-forwarded-for']?.slice(0, FORWARDED_FOR_LENGTH_MAX),
    route: route || undefined,
    // A string, because many programs read a JSON number as a double.
    petId: (petId ?? parsePetId(pathParameter))?.toString(),
    bytes: request.method === 'HEAD' ? 0 : bytesOf(response),
  };
}
