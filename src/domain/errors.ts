import type { Static } from 'typebox';

/**
 * Every error code of the interface with its HTTP status and meaning. The list is closed and part of the
 * contract: add a code together with its row in docs/errors.md, which adds the cause and the remedy.
 */
export const ERRORS = {
  invalid_json: { status: 400, meaning: 'The body is not a JSON object in UTF-8.' },
  missing_field: { status: 400, meaning: 'The body lacks a required field.' },
  invalid_field: { status: 400, meaning: 'A field of the body has an invalid value.' },
  unknown_field: {
    status: 400,
    meaning: 'The body has an unknown field, and the request asked for strict handling.',
  },
  invalid_parameter: {
    status: 400,
    meaning: 'A query parameter has an invalid value, or is repeated.',
  },
  unknown_parameter: {
    status: 400,
    meaning: 'The query has an unknown parameter, and the request asked for strict handling.',
  },
  invalid_cursor: {
    status: 400,
    meaning: 'The cursor is not from this service, or is for a different status filter.',
  },
  invalid_idempotency_key: { status: 400, meaning: 'The Idempotency-Key header is not valid.' },
  malformed_request: {
    status: 400,
    meaning: 'The request is not well-formed HTTP.',
  },
  missing_api_key: { status: 401, meaning: 'The request has no API key.' },
  invalid_api_key: {
    status: 401,
    meaning: 'The API key is not valid in this environment, or was revoked.',
  },
  expired_api_key: { status: 401, meaning: 'The API key has expired.' },
  insufficient_scope: {
    status: 403,
    meaning: 'The API key lacks the scope that this operation requires.',
  },
  pet_not_found: { status: 404, meaning: 'No animal has this id.' },
  route_not_found: { status: 404, meaning: 'The path does not exist.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method.' },
  request_timeout: {
    status: 408,
    meaning: 'The service did not receive the whole request in time.',
  },
  operation_removed: { status: 410, meaning: 'The operation was removed on its announced date.' },
  body_too_large: { status: 413, meaning: 'The body is larger than the service accepts.' },
  uri_too_long: { status: 414, meaning: 'The request target is longer than the service accepts.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The service does not support the media type or the encoding of the body.',
  },
  expectation_failed: {
    status: 417,
    meaning: 'The service does not support the expectation in the Expect header.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The Idempotency-Key was already used for a different animal.',
  },
  rate_limited: { status: 429, meaning: 'The API key has reached its rate limit.' },
  headers_too_large: {
    status: 431,
    meaning: 'The request headers are larger than the service accepts.',
  },
  internal_error: {
    status: 500,
    meaning: 'The service failed; its log has the cause under the request id.',
  },
  not_implemented: {
    status: 501,
    meaning: 'The service does not support this method or transfer coding.',
  },
  unavailable: {
    status: 503,
    meaning: 'The store is not available, or the service is shutting down.',
  },
  overloaded: { status: 503, meaning: 'Too many requests are waiting.' },
  http_version_not_supported: {
    status: 505,
    meaning: 'The service supports only HTTP/1.1 and HTTP/1.0.',
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** The body of every error response: exactly these three fields. */
export const ErrorBody = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: {
    code: {
      // Typed as a tuple so that TypeScript knows it is never empty.
      enum: ERROR_CODES as [ErrorCode],
      type: 'string',
      description: 'Machine-readable error code.',
      examples: ['pet_not_found'],
    },
    message: {
      type: 'string',
      description: 'Human-readable description.',
      examples: ['No animal has this id.'],
    },
    status: { type: 'integer', description: 'The HTTP status code.', examples: [404] },
  },
  title: 'Error',
  description: 'The body of every error response.',
  examples: [{ code: 'pet_not_found', message: 'No animal has this id.', status: 404 }],
} as const;
export type ErrorBody = Static<typeof ErrorBody>;

/**
 * A refused request. `message` goes to the caller and contains no internal detail. `cause` goes to the
 * log.
 */
export class Refusal extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'Refusal';
    this.code = code;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** How many names an error message repeats, and how many characters of each. */
const NAMES_MAX = 10;
const NAME_LENGTH_MAX = 40;

/** Formats names that a caller has sent for an error message. */
export function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_LENGTH_MAX));
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
