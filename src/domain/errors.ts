import type { Static } from 'typebox';

/**
 * Every error code of the interface, with its HTTP status and what it means. The list is closed and part of
 * the contract: a code is added here together with its row in docs/errors.md, which adds cause and remedy.
 */
export const ERRORS = {
  invalid_json: { status: 400, meaning: 'The body is not a JSON object in UTF-8.' },
  missing_field: { status: 400, meaning: 'The body lacks a required field.' },
  invalid_field: { status: 400, meaning: 'A field of the body has a value that is not allowed.' },
  unknown_field: {
    status: 400,
    meaning: 'Strict handling was asked for, and the body has a field that does not exist.',
  },
  invalid_parameter: {
    status: 400,
    meaning: 'A query parameter has a value that is not allowed, or was given twice.',
  },
  unknown_parameter: {
    status: 400,
    meaning: 'Strict handling was asked for, and a query parameter does not exist.',
  },
  invalid_cursor: {
    status: 400,
    meaning: 'The cursor is not one of this service, or belongs to another status filter.',
  },
  invalid_idempotency_key: { status: 400, meaning: 'The Idempotency-Key header cannot be used.' },
  malformed_request: {
    status: 400,
    meaning: 'The bytes received are not a well-formed HTTP request.',
  },
  missing_api_key: { status: 401, meaning: 'No API key was sent.' },
  invalid_api_key: {
    status: 401,
    meaning: 'The API key is not a key of this environment, or was revoked.',
  },
  expired_api_key: { status: 401, meaning: 'The API key has expired.' },
  insufficient_scope: { status: 403, meaning: 'The API key may not perform this operation.' },
  pet_not_found: { status: 404, meaning: 'No animal has this id.' },
  route_not_found: { status: 404, meaning: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, meaning: 'The path exists, but not with this method.' },
  request_timeout: { status: 408, meaning: 'The request did not arrive completely in time.' },
  operation_removed: { status: 410, meaning: 'The operation was removed on its announced date.' },
  body_too_large: { status: 413, meaning: 'The body is larger than the service accepts.' },
  uri_too_long: { status: 414, meaning: 'The request target is longer than the service accepts.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body is in a format or encoding the service does not read.',
  },
  expectation_failed: {
    status: 417,
    meaning: 'The Expect header asks for something the service does not do.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The Idempotency-Key was used before for another animal.',
  },
  rate_limited: { status: 429, meaning: 'The API key has used up its requests for now.' },
  headers_too_large: {
    status: 431,
    meaning: 'The request headers are larger than the service accepts.',
  },
  internal_error: {
    status: 500,
    meaning: 'The service has failed; the log has the cause under the request id.',
  },
  not_implemented: {
    status: 501,
    meaning: 'The service does not know this method or transfer coding.',
  },
  unavailable: {
    status: 503,
    meaning: 'The store cannot be reached, or the service is shutting down.',
  },
  overloaded: { status: 503, meaning: 'More requests are waiting than the service will hold.' },
  http_version_not_supported: {
    status: 505,
    meaning: 'The service speaks HTTP/1.1 and HTTP/1.0 only.',
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** The body of every error response: these three fields and no fourth. */
export const ErrorBody = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: {
    code: {
      // Typed as a tuple so that TypeScript knows it is never empty.
      enum: ERROR_CODES as [ErrorCode],
      type: 'string',
      description: 'Machine-readable error code.',
    },
    message: { type: 'string', description: 'Human-readable description.' },
    status: { type: 'integer', description: 'The HTTP status code.' },
  },
  title: 'Error',
  examples: [{ code: 'pet_not_found', message: 'No animal has this id.', status: 404 }],
} as const;
export type ErrorBody = Static<typeof ErrorBody>;

/**
 * A request that is refused. `message` is for the caller and tells nothing of the inside; `cause` is
 * for the log.
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

/** How many names, and how much of each, an error message repeats. */
const NAMES_MAX = 10;
const NAME_LENGTH_MAX = 40;

/** Names that a caller has sent, as an error message may repeat them. */
export function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_LENGTH_MAX));
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
