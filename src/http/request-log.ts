import { Refusal } from '../domain/errors.ts';
import type { Log } from '../ops/log.ts';

/** The part of a request that its line needs. */
interface LoggedRequest {
  requestId: string;
  /** Empty if the request was refused before its key was known. */
  keyId: string;
  operation: { id: string } | undefined;
  request: { method: string; headers: Readonly<Record<string, string | undefined>> };
}

export interface Outcome {
  status: number;
  durationMs: number;
  error: unknown;
}

export const SLOW_REQUEST_MS = 1_000;
const TRACE_PARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

/** After a failed or slow request has its line, others of its kind are counted for this long. */
const COUNTED_MS = 10_000;

/**
 * Writes one line for each failed or slow request, and at level debug for every other. A line never contains
 * a key, a body or an Authorization header.
 *
 * Anybody can cause any number of refused and slow requests. Only the first of each kind has a line with its
 * id and cause. Those that follow are counted, and the count is written at the end of the interval.
 */
export class RequestLog {
  readonly #log: Log;
  readonly #counts = new Map<string, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  add(logged: LoggedRequest, { status, durationMs, error }: Outcome): void {
    const { requestId, keyId, request } = logged;
    const operation = logged.operation?.id;
    const hasFailed = status >= 500;
    const isSlow = durationMs >= SLOW_REQUEST_MS;
    const level = hasFailed ? 'error' : isSlow ? 'warn' : 'debug';
    const message = hasFailed ? 'request failed' : isSlow ? 'request was slow' : 'request';
    // An error of another type is a defect of the service, and each one has its cause in the log.
    const isForeseen = error === undefined || error instanceof Refusal;
    if (isForeseen && !this.#log.isLevelEnabled('debug')) {
      const kind = { operation, status, code: error?.code };
      if (this.#isRepeated(kind, level, message)) return;
    }
    const cause = error instanceof Refusal ? (error.cause ?? error.message) : error;
    this.#log[level](
      {
        requestId,
        traceId: TRACE_PARENT.exec(request.headers['traceparent'] ?? '')?.[1],
        keyId: keyId || undefined,
        method: request.method,
        operation,
        status,
        durationMs: Math.round(durationMs * 1000) / 1000,
        err: hasFailed ? cause : undefined,
      },
      message,
    );
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
