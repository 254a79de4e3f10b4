import { ERROR_CODES, ERRORS, type ErrorBody, type ErrorCode } from '../domain/errors.ts';
import { jsonResponse, type HttpResponse } from './message.ts';

const RETRY_AFTER_SECONDS = 1;
/** The message of a 500. */
export const FAILED = 'The service failed; its log has the cause under the request id.';
const CHALLENGE = 'Bearer realm="petstore"';

const INVALID_TOKEN = ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`];
const RETRY = ['Retry-After', String(RETRY_AFTER_SECONDS)];

/** Headers of every response with this code. */
const HEADERS_OF_CODE: Partial<Record<ErrorCode, readonly string[]>> = {
  missing_api_key: ['WWW-Authenticate', CHALLENGE],
  invalid_api_key: INVALID_TOKEN,
  expired_api_key: INVALID_TOKEN,
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
  const all = ['Cache-Control', 'no-store', ...(HEADERS_OF_CODE[code] ?? []), ...headers];
  return { ...jsonResponse(status, JSON.stringify(body), all), code };
}

/** The header that leads from an error to its explanation, per code. The lists are frozen: each is encoded once. */
export function helpLinks(baseUrl: string): (code: ErrorCode) => readonly string[] {
  const page = `${baseUrl.replace(/\/v1$/, '')}/docs/errors`;
  const links = new Map(
    ERROR_CODES.map((code) => [code, Object.freeze(['Link', `<${page}#${code}>; rel="help"`])]),
  );
  return (code) => links.get(code) ?? [];
}

/** A 403 names the scope that is needed (RFC 6750). */
export function insufficientScope(scope: string): HttpResponse {
  return errorResponse('insufficient_scope', `This API key lacks the scope ${scope}.`, [
    'WWW-Authenticate',
    `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  ]);
}

const PATHS = 'The interface has /v1/pets and /v1/pets/{petId}; /docs describes it.';

export function notFound(remedy = PATHS): HttpResponse {
  return errorResponse('route_not_found', `The path does not exist. ${remedy}`);
}

export function methodNotAllowed(methods: readonly string[]): HttpResponse {
  const allow = methods.join(', ');
  return errorResponse('method_not_allowed', `The path supports only ${allow}.`, ['Allow', allow]);
}
