import type { Static } from 'typebox';

/**
 * Every error code of the interface and the HTTP status it is answered with. The list is closed and
 * part of the contract: a code is added here together with its row in docs/errors.md.
 */
export const ERROR_STATUS = {
  invalid_json: 400,
  missing_field: 400,
  invalid_field: 400,
  unknown_field: 400,
  invalid_parameter: 400,
  unknown_parameter: 400,
  invalid_cursor: 400,
  invalid_idempotency_key: 400,
  malformed_request: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  expired_api_key: 401,
  insufficient_scope: 403,
  pet_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  operation_removed: 410,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  not_implemented: 501,
  unavailable: 503,
  overloaded: 503,
  http_version_not_supported: 505,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const ERROR_CODES = Object.keys(ERROR_STATUS) as ErrorCode[];

/** What each code means, in one sentence; docs/errors.md adds the cause and the remedy. */
export const ERROR_MEANING: Record<ErrorCode, string> = {
  invalid_json: 'The body is not a JSON object in UTF-8.',
  missing_field: 'The body lacks a required field.',
  invalid_field: 'A field of the body has a value that is not allowed.',
  unknown_field: 'Strict handling was asked for, and the body has a field that does not exist.',
  invalid_parameter: 'A query parameter has a value that is not allowed, or was given twice.',
  unknown_parameter: 'Strict handling was asked for, and a query parameter does not exist.',
  invalid_cursor: 'The cursor is not one of this service, or belongs to another status filter.',
  invalid_idempotency_key: 'The Idempotency-Key header cannot be used.',
  malformed_request: 'The bytes received are not a well-formed HTTP request.',
  missing_api_key: 'No API key was sent.',
  invalid_api_key: 'The API key is not a key of this environment, or was revoked.',
  expired_api_key: 'The API key has expired.',
  insufficient_scope: 'The API key may not perform this operation.',
  pet_not_found: 'No animal has this id.',
  route_not_found: 'There is nothing at this path.',
  method_not_allowed: 'The path exists, but not with this method.',
  request_timeout: 'The request did not arrive completely in time.',
  operation_removed: 'The operation was removed on its announced date.',
  body_too_large: 'The body is larger than the service accepts.',
  uri_too_long: 'The request target is longer than the service accepts.',
  unsupported_media_type: 'The body is in a format or encoding the service does not read.',
  expectation_failed: 'The Expect header asks for something the service does not do.',
  idempotency_key_reused: 'The Idempotency-Key was used before for another animal.',
  rate_limited: 'The API key has used up its requests for now.',
  headers_too_large: 'The request headers are larger than the service accepts.',
  internal_error: 'The service has failed; the log has the cause under the request id.',
  not_implemented: 'The service does not know this method or transfer coding.',
  unavailable: 'The store cannot be reached, or the service is shutting down.',
  overloaded: 'More requests are waiting than the service will hold.',
  http_version_not_supported: 'The service speaks HTTP/1.1 and HTTP/1.0 only.',
};

/** The body of every error answer: these three fields and no fourth. */
export const ErrorBody = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: {
    code: {
      // For its type alone a list of one: any of them.
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
    return ERROR_STATUS[this.code];
  }
}
