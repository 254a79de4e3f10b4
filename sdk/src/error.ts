import type { ErrorCode, ErrorDetails } from './types.ts';

/** The failure of a call with valid arguments. */
export class PetStoreError extends Error {
  override readonly name = 'PetStoreError';
  readonly code: ErrorCode;
  /** The HTTP status, or 0 if there was no response. */
  readonly status: number;
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined;
  /** The delay that the service asked for in `Retry-After`. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
  }
}
