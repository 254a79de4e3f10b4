import { Type, type Static } from 'typebox';

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

/** The body of every error answer: these three fields and no fourth. */
export const ErrorBody = Type.Object(
  {
    code: Type.Enum(ERROR_CODES, { type: 'string', description: 'Machine-readable error code.' }),
    message: Type.String({ description: 'Human-readable description.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
  },
  {
    title: 'Error',
    examples: [{ code: 'pet_not_found', message: 'No animal has the id 42.', status: 404 }],
  },
);
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
