import { ERRORS, Refusal, type ErrorBody, type ErrorCode } from '../domain/errors.ts';
import { JSON_MEDIA_TYPE, jsonResponse, type HttpResponse } from './message.ts';

const RETRY_AFTER_SECONDS = 1;
const CHALLENGE = 'Bearer realm="petstore"';

const INVALID_TOKEN = ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`];
const RETRY = ['Retry-After', String(RETRY_AFTER_SECONDS)];

/** Headers of every response with this code. */
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
  const all = ['Cache-Control', 'no-store', ...(HEADERS_OF_CODE[code] ?? []), ...headers];
  return { ...jsonResponse(status, JSON.stringify(body), all), code };
}

/** A 403 names the scope that is needed (RFC 6750). */
export function insufficientScope(scope: string): HttpResponse {
  return errorResponse('insufficient_scope', `This API key lacks the scope ${scope}.`, [
    'WWW-Authenticate',
    `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  ]);
}

export function notFound(): HttpResponse {
  return errorResponse('route_not_found', 'The path does not exist.');
}

export function methodNotAllowed(methods: readonly string[]): HttpResponse {
  const allow = methods.join(', ');
  return errorResponse('method_not_allowed', `The path supports only ${allow}.`, ['Allow', allow]);
}

/** What node:http reports with `clientError`. */
export type ClientFault = NodeJS.ErrnoException & {
  reason?: string;
  rawPacket?: Buffer;
  bytesParsed?: number;
};

export const TARGET_LENGTH_MAX = 8 * 1024;

export const HTTP_VERSION_REFUSAL = new Refusal(
  'http_version_not_supported',
  'The service supports only HTTP/1.1 and HTTP/1.0.',
);
const MALFORMED = new Refusal('malformed_request', 'The request is not well-formed HTTP.');
const BARE_LINE_FEED = new Refusal(
  'malformed_request',
  'A line of the request ends with a line feed alone; it must end with CR and LF.',
);

/** Explains bytes that never became a request. Returns undefined if the client is gone. */
export function explainClientFault(fault: ClientFault): Refusal | undefined {
  const line = lineOf(fault);
  // The codes are those of node:http and of its parser.
  switch (fault.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_timeout', 'The request did not arrive completely in time.');
    case 'HPE_HEADER_OVERFLOW':
      return line.length > TARGET_LENGTH_MAX && /^[A-Z]+ /.test(line)
        ? new Refusal('uri_too_long', 'The request target is too long.')
        : new Refusal('headers_too_large', 'The request headers are too large.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Refusal('body_too_large', 'The chunk extensions are too large.');
    case 'HPE_CR_EXPECTED':
      return BARE_LINE_FEED;
    case 'HPE_INVALID_VERSION':
      return fault.reason === 'Expected CRLF after version' ? BARE_LINE_FEED : explainVersion(line);
    case 'HPE_PAUSED_H2_UPGRADE':
      return HTTP_VERSION_REFUSAL;
    case 'HPE_INVALID_METHOD':
      return explainMethod(line);
    default:
      return MALFORMED;
  }
}

/** The line in which the parser stopped. Earlier requests may precede it in the same packet. */
function lineOf({ rawPacket, bytesParsed = 0 }: ClientFault): string {
  if (rawPacket === undefined) return '';
  const before = bytesParsed === 0 ? -1 : rawPacket.lastIndexOf('\n', bytesParsed - 1);
  const end = rawPacket.indexOf('\n', before + 1);
  return rawPacket.toString('latin1', before + 1, end === -1 ? rawPacket.length : end + 1);
}

/** 505 for a well-formed version, or none as in HTTP/0.9. Anything else is not a request line. */
function explainVersion(line: string): Refusal {
  const isOther = /^\S+ \S+(?: HTTP\/(?!1\.[01]\r?\n)\d\.\d)?\r?\n$/.test(line);
  return isOther ? HTTP_VERSION_REFUSAL : MALFORMED;
}

/** 501 for an unknown method that is a valid token, however long. Anything else is not a request. */
function explainMethod(line: string): Refusal {
  if (/^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?\n$/.test(line)) {
    return new Refusal('not_implemented', 'The service does not support this method.');
  }
  return / HTTP\/\d\.\d\r?\n$/.test(line) ? explainVersion(line) : MALFORMED;
}
