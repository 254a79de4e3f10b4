import type { Static } from 'typebox';

const error = (status: number, meaning: string) => ({ status, meaning });

/**
 * Every error code of this release with its HTTP status and meaning. The list is part of the contract: a code
 * never changes. Add one together with its row in docs/errors.md, which adds the cause and the remedy.
 */
export const ERRORS = {
  invalid_json: error(400, 'The body is not a JSON object in UTF-8.'),
  missing_field: error(400, 'The body lacks a required field.'),
  invalid_field: error(400, 'A field of the body has an invalid value.'),
  unknown_field: error(
    400,
    'The body has an unknown field, and the request asked for strict handling.',
  ),
  invalid_parameter: error(400, 'A query parameter has an invalid value, or is repeated.'),
  unknown_parameter: error(
    400,
    'The query has an unknown parameter, and the request asked for strict handling.',
  ),
  invalid_cursor: error(
    400,
    'The cursor is not from this service, or is for a different status filter.',
  ),
  invalid_idempotency_key: error(400, 'The Idempotency-Key header is not valid.'),
  malformed_request: error(400, 'The request is not well-formed HTTP.'),
  missing_api_key: error(401, 'The request has no API key.'),
  invalid_api_key: error(401, 'The API key is not valid in this environment, or was revoked.'),
  expired_api_key: error(401, 'The API key has expired.'),
  insufficient_scope: error(403, 'The API key lacks the scope that this operation requires.'),
  pet_not_found: error(404, 'No animal has this id.'),
  route_not_found: error(404, 'The path does not exist.'),
  method_not_allowed: error(405, 'The path does not support this method.'),
  pet_changed: error(409, 'The animal was changed since the console showed it.'),
  request_timeout: error(408, 'The service did not receive the whole request in time.'),
  operation_removed: error(410, 'The operation was removed on its announced date.'),
  body_too_large: error(413, 'The body is larger than the service accepts.'),
  uri_too_long: error(414, 'The request target is longer than the service accepts.'),
  unsupported_media_type: error(
    415,
    'The service does not support the media type or the encoding of the body.',
  ),
  expectation_failed: error(
    417,
    'The service does not support the expectation in the Expect header.',
  ),
  idempotency_key_reused: error(
    422,
    'The Idempotency-Key was already used for a different animal.',
  ),
  rate_limited: error(429, 'The API key has reached its rate limit.'),
  headers_too_large: error(431, 'The request headers are larger than the service accepts.'),
  internal_error: error(500, 'The service failed; its log has the cause under the request id.'),
  not_implemented: error(501, 'The service does not support this method or transfer coding.'),
  unavailable: error(503, 'The store is not available, or the service is shutting down.'),
  overloaded: error(503, 'Too many requests are waiting.'),
  http_version_not_supported: error(505, 'The service supports only HTTP/1.1 and HTTP/1.0.'),
};

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** `pet_changed` is only for the console's own requests. */
export const INTERFACE_ERROR_CODES = ERROR_CODES.filter((code) => code !== 'pet_changed');

/** An open string: a client that was generated from an `enum` could not read an error with a newer code. */
export const ErrorCode = {
  type: 'string',
  title: 'ErrorCode',
  description: 'Machine-readable error code. The examples are of this release; more may follow.',
  examples: INTERFACE_ERROR_CODES,
} as const;

/** The body of every error response: exactly these three fields. */
export const ErrorBody = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: {
    code: ErrorCode,
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

/** A refused request. `message` goes to the caller and contains no internal detail. `cause` goes to the log. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** A refusal that is made once and used often. It has no stack, which would name the place of the constant. */
export function sharedRefusal(code: ErrorCode, message: string): Refusal {
  const refusal = new Refusal(code, message);
  delete refusal.stack;
  return refusal;
}

/** How many names an error message repeats, and how many code points of each. */
const NAMES_MAX = 10;
const NAME_CODE_POINTS_MAX = 40;

/** Formats names that a caller has sent for an error message. Half a surrogate pair would break JSON parsers. */
export function shownNames(names: readonly string[]): string {
  const shown = names
    .slice(0, NAMES_MAX)
    .map((name) => Array.from(name.toWellFormed()).slice(0, NAME_CODE_POINTS_MAX).join(''));
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
