import { Refusal } from '../domain/errors.ts';
import type { Log } from '../ops/log.ts';
import type { HttpRequest } from './message.ts';
import type { Operation } from './operations.ts';

/** What becomes known about a request on its way through; the answer and the log line need it. */
export interface Passage {
  startedMs: number;
  requestId: string;
  operation: Operation | undefined;
  keyId: string | undefined;
  /** Headers for whatever answer it will be. */
  headers: string[];
}

export interface Outcome {
  status: number;
  durationMs: number;
  fault: unknown;
}

const SLOW_REQUEST_MS = 1_000;
const TRACE_PARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

/**
 * One line for a failed or slow request, and for any other only when somebody listens at debug: a line a
 * request would cost a third of the throughput. Never a key, a body or an Authorization header.
 */
export function logRequest(
  log: Log,
  request: HttpRequest,
  passage: Passage,
  { status, durationMs, fault }: Outcome,
): void {
  const hasFailed = status >= 500;
  const isSlow = durationMs >= SLOW_REQUEST_MS;
  if (!hasFailed && !isSlow && !log.isLevelEnabled('debug')) return;
  const line = {
    requestId: passage.requestId,
    traceId: TRACE_PARENT.exec(request.headers['traceparent'] ?? '')?.[1],
    keyId: passage.keyId,
    method: request.method,
    operation: passage.operation?.id,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    err: hasFailed ? causeOf(fault) : undefined,
  };
  if (hasFailed) log.error(line, 'request failed');
  else if (isSlow) log.warn(line, 'request was slow');
  else log.debug(line, 'request');
}

function causeOf(fault: unknown): unknown {
  return fault instanceof Refusal ? (fault.cause ?? fault.message) : fault;
}
