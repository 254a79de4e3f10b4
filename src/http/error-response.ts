import { ERRORS, type ErrorBody, type ErrorCode } from '../domain/errors.ts';
import { JSON_MEDIA_TYPE, jsonResponse, STATUS_CODES, type HttpResponse } from './message.ts';

const RETRY_AFTER_SECONDS = 1;
const CHALLENGE = 'Bearer realm="petstore"';

const INVALID_TOKEN = ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`];
const RETRY = ['Retry-After', String(RETRY_AFTER_SECONDS)];

/** Headers that every response with this code has. */
const HEADERS_OF_CODE: Partial<Record<ErrorCode, readonly string[]>> = {
  missing_api_key: ['WWW-Authenticate', CHALLENGE],
  invalid_api_key: INVALID_TOKEN,
  expired_api_key: INVALID_TOKEN,
  unsupported_media_type: ['Accept-Post', JSON_MEDIA_TYPE],
  unavailable: RETRY,
  overloaded: RETRY,
};

/** The only writer of errors: every response of 400 or above is made here. */
export function errorResponse(
  code: ErrorCode,
  message: string,
  headers: readonly string[] = [],
): HttpResponse {
  const status = ERRORS[code].status;
  const body: ErrorBody = { code, message, status };
  return jsonResponse(status, JSON.stringify(body), [
    'Cache-Control',
    'no-store',
    ...(HEADERS_OF_CODE[code] ?? []),
    ...headers,
  ]);
}

/** The same as bytes, for what never became a request. The connection closes after it. */
export function rawErrorResponse(code: ErrorCode, message: string, requestId: string): string {
  const { status, headers, body } = errorResponse(code, message, [
    'X-Request-Id',
    requestId,
    'Date',
    new Date().toUTCString(),
    'Connection',
    'close',
  ]);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  return `${head}\r\n${body.toString()}`;
}

/** A 403 names the scope that is needed (RFC 6750). */
export function insufficientScope(scope: string): HttpResponse {
  return errorResponse('insufficient_scope', `This API key lacks the scope ${scope}.`, [
    'WWW-Authenticate',
    `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  ]);
}

export function notFound(): HttpResponse {
  return errorResponse('route_not_found', 'There is nothing at this path.');
}

export function methodNotAllowed(methods: readonly string[]): HttpResponse {
  const allow = methods.join(', ');
  return errorResponse('method_not_allowed', `This path has ${allow}.`, ['Allow', allow]);
}
