import { ERROR_CODES, ERRORS, type ErrorBody, type ErrorCode } from '../domain/errors.ts';
import { jsonResponse, type HttpResponse } from './message.ts';
import { siteOf } from './target.ts';

const RETRY_AFTER_SECONDS = 1;
/** The message of a 500. */
export const FAILED = 'The service failed; its log has the cause under the request id.';
const CHALLENGE = 'Bearer realm="petstore"';

const INVALID_TOKEN = ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`] as const;
const RETRY = ['Retry-After', String(RETRY_AFTER_SECONDS)] as const;

/** The header of each code that has one. Without a value here, it is that of the response. */
export const HEADER_OF_ERROR: Partial<Record<ErrorCode, readonly [name: string, value?: string]>> =
  {
    missing_api_key: ['WWW-Authenticate', CHALLENGE],
    invalid_api_key: INVALID_TOKEN,
    expired_api_key: INVALID_TOKEN,
    insufficient_scope: ['WWW-Authenticate'],
    method_not_allowed: ['Allow'],
    unsupported_media_type: ['Accept-Post'],
    rate_limited: ['Retry-After'],
    unavailable: RETRY,
    overloaded: RETRY,
  };

/** The only writer of errors: every response of 400 or above is made here. */
export function errorResponse(code: ErrorCode, message: string, value = ''): HttpResponse {
  const status = ERRORS[code].status;
  const body: ErrorBody = { code, message, status };
  const [name, usual = value] = HEADER_OF_ERROR[code] ?? [];
  const headers = ['Cache-Control', 'no-store', ...(name === undefined ? [] : [name, usual])];
  return { ...jsonResponse(status, JSON.stringify(body), headers), code };
}

/** The header that leads from an error to its explanation, per code. The lists are frozen: each is encoded once. */
export function helpLinks(baseUrl: string): (code: ErrorCode) => readonly string[] {
  const page = `${siteOf(baseUrl)}/docs/errors`;
  const links = new Map(
    ERROR_CODES.map((code) => [code, Object.freeze(['Link', `<${page}#${code}>; rel="help"`])]),
  );
  return (code) => links.get(code) ?? [];
}

/** A 403 names the scope that is needed (RFC 6750). */
export function insufficientScope(scope: string): HttpResponse {
  const challenge = `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
  return errorResponse('insufficient_scope', `This API key lacks the scope ${scope}.`, challenge);
}

const PATHS = 'The interface has /v1/pets and /v1/pets/{petId}; /docs describes it.';

export function notFound(remedy = PATHS): HttpResponse {
  return errorResponse('route_not_found', `The path does not exist. ${remedy}`);
}

export function methodNotAllowed(methods: readonly string[]): HttpResponse {
  const allow = methods.join(', ');
  return errorResponse('method_not_allowed', `The path supports only ${allow}.`, allow);
}
