import type { ErrorCode, ErrorDetails } from './types.ts';

/** Everything that can go wrong between a correct call and its result. */
export class PetStoreError extends Error {
  override readonly name = 'PetStoreError';
  readonly code: ErrorCode;
  /** The HTTP status, or 0 when there was no answer. */
  readonly status: number;
  /** The service's log has the request under this id. */
  readonly requestId: string | undefined;
  /** How long the service asked to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
  }
}
