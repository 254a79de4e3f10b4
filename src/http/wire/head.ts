import { sharedRefusal, type Refusal } from '../../domain/errors.ts';
import type { ClientFault, Exchange } from './node-http.ts';

export const HEADER_BYTES_MAX = 16 * 1024;
export const HEADERS_MAX = 200;
export const TARGET_LENGTH_MAX = 8 * 1024;

/** A name or an address, with or without a port. */
const HOST = /^(?:\[[\da-f:.]+\]|[^\s,/?#@\\:[\]]+)(?::\d*)?$/i;
/** The host of a target in absolute form. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

const malformed = (message: string) => sharedRefusal('malformed_request', message);

/** Everything that HTTP/1.1 forbids in a head, or that exceeds a limit of the service. */
const refusals = {
  malformed: malformed('The request is not well-formed HTTP.'),
  bareLineFeed: malformed(
    'A line of the request ends with a line feed alone; it must end with CR and LF.',
  ),
  host: malformed('A request must have exactly one valid Host header.'),
  authority: malformed('The request target must be a path, or a URL with a valid host.'),
  codingOfOldVersion: malformed('HTTP/1.0 has no Transfer-Encoding; send a Content-Length.'),
  lastCoding: malformed('The last transfer coding must be chunked.'),
  coding: sharedRefusal('not_implemented', 'The only supported transfer coding is chunked.'),
  method: sharedRefusal('not_implemented', 'The service does not support this method.'),
  tunnel: sharedRefusal('not_implemented', 'CONNECT is for proxies, and this service is not one.'),
  version: sharedRefusal(
    'http_version_not_supported',
    'The service supports only HTTP/1.1 and HTTP/1.0.',
  ),
  expectation: sharedRefusal('expectation_failed', 'The only supported Expect is 100-continue.'),
  tooSlow: sharedRefusal('request_timeout', 'The request did not arrive completely in time.'),
  targetTooLong: sharedRefusal(
    'uri_too_long',
    `The request target is over ${TARGET_LENGTH_MAX} characters.`,
  ),
  headTooLarge: sharedRefusal(
    'headers_too_large',
    `The request has over ${HEADERS_MAX} headers, or over ${HEADER_BYTES_MAX} bytes of them.`,
  ),
  chunkExtensions: sharedRefusal('body_too_large', 'The chunk extensions are too large.'),
};

export const TUNNEL_REFUSAL = refusals.tunnel;

/** What the parser accepts, and the service does not. */
export function headFault(exchange: Exchange): Refusal | undefined {
  const { headers, httpVersion, target } = exchange;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refusals.version;
  if (target.length > TARGET_LENGTH_MAX) return refusals.targetTooLong;
  const { host = '' } = headers;
  if (host === '' ? httpVersion === '1.1' : !HOST.test(host)) return refusals.host;
  const authority = target.startsWith('/') ? undefined : AUTHORITY.exec(target)?.[1];
  if (authority !== undefined && !HOST.test(authority)) return refusals.authority;
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) {
    if (httpVersion === '1.0') return refusals.codingOfOldVersion;
    if (!/(?:^|,)\s*chunked$/i.test(coding)) return refusals.lastCoding;
    if (coding.toLowerCase() !== 'chunked') return refusals.coding;
  }
  return exchange.expects === 'other' ? refusals.expectation : undefined;
}

/** Explains bytes that never became a request. Returns undefined if the client is gone. */
export function explainClientFault(fault: ClientFault): Refusal | undefined {
  const line = lineOf(fault);
  // The codes are those of node:http and of its parser.
  switch (fault.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusals.tooSlow;
    case 'HPE_HEADER_OVERFLOW':
      return line.length > TARGET_LENGTH_MAX && /^[A-Z]+ /.test(line)
        ? refusals.targetTooLong
        : refusals.headTooLarge;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusals.chunkExtensions;
    case 'HPE_CR_EXPECTED':
      return refusals.bareLineFeed;
    case 'HPE_INVALID_VERSION':
      return fault.reason === 'Expected CRLF after version' && !line.endsWith('\r\n')
        ? refusals.bareLineFeed
        : explainVersion(line);
    case 'HPE_PAUSED_H2_UPGRADE':
      return refusals.version;
    case 'HPE_INVALID_METHOD':
      return explainMethod(line);
    default:
      return refusals.malformed;
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
  return isOther ? refusals.version : refusals.malformed;
}

/** 501 for an unknown method that is a valid token, however long. Anything else is not a request. */
function explainMethod(line: string): Refusal {
  if (/^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?\n$/.test(line)) return refusals.method;
  return / HTTP\/\d\.\d\r?\n$/.test(line) ? explainVersion(line) : refusals.malformed;
}
