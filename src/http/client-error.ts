import type { ErrorCode } from '../domain/errors.ts';

/** What node:http reports with `clientError`. */
export type ClientFault = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

/** A code and a message for the caller. */
export type Explained = [code: ErrorCode, message: string];

export const TARGET_LENGTH_MAX = 8 * 1024;

export const HTTP_VERSION_FAULT: Explained = [
  'http_version_not_supported',
  'The service speaks HTTP/1.1 and HTTP/1.0 only.',
];
const MALFORMED: Explained = ['malformed_request', 'The request is not well-formed HTTP.'];

/**
 * Says what is wrong with bytes that never became a request; undefined where the client is gone.
 * The names are those of node:http and of its parser.
 */
export function explainClientFault(fault: ClientFault): Explained | undefined {
  switch (fault.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['request_timeout', 'The request did not arrive completely in time.'];
    case 'HPE_HEADER_OVERFLOW':
      return isLongRequestLine(lineOf(fault))
        ? ['uri_too_long', 'The request target is too long.']
        : ['headers_too_large', 'The request headers are too large.'];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return ['body_too_large', 'The chunk extensions are too large.'];
    case 'HPE_INVALID_VERSION':
      return versionFault(lineOf(fault));
    case 'HPE_PAUSED_H2_UPGRADE':
      return HTTP_VERSION_FAULT;
    case 'HPE_INVALID_METHOD':
      return methodFault(lineOf(fault));
    default:
      return MALFORMED;
  }
}

/** The line in which the parser stopped; earlier requests may stand before it in the same packet. */
function lineOf({ rawPacket, bytesParsed = 0 }: ClientFault): string {
  if (rawPacket === undefined) return '';
  const before = bytesParsed === 0 ? -1 : rawPacket.lastIndexOf('\n', bytesParsed - 1);
  const end = rawPacket.indexOf('\n', before + 1);
  return rawPacket.toString('latin1', before + 1, end === -1 ? rawPacket.length : end + 1);
}

function isLongRequestLine(line: string): boolean {
  return line.length > TARGET_LENGTH_MAX && /^[A-Z]+ /.test(line);
}

/** 505 for a well-formed version, or none as in HTTP/0.9. Anything else is not a request line. */
function versionFault(line: string): Explained {
  const isOther = /^\S+ \S+(?: HTTP\/(?!1\.[01]\r?\n)\d\.\d)?\r?\n$/.test(line);
  return isOther ? HTTP_VERSION_FAULT : MALFORMED;
}

/** 501 for an unknown method that is a valid token, however long. Anything else is not a request. */
function methodFault(line: string): Explained {
  if (/^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?\n$/.test(line)) {
    return ['not_implemented', 'The service does not know this method.'];
  }
  return / HTTP\/\d\.\d\r?\n$/.test(line) ? versionFault(line) : MALFORMED;
}
