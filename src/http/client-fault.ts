import type { ErrorCode } from '../domain/errors.ts';

/** What node:http reports with `clientError`. */
export type ClientFault = NodeJS.ErrnoException & { rawPacket?: Buffer };

interface Explained {
  code: ErrorCode;
  message: string;
}

/**
 * Says what is wrong with bytes that never became a request; undefined where nobody is left to be told.
 * The names are those of node:http and of its parser.
 */
export function explainClientFault(fault: ClientFault): Explained | undefined {
  switch (fault.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'request_timeout', message: 'The request did not arrive in time.' };
    case 'HPE_HEADER_OVERFLOW':
      return isRequestLine(fault.rawPacket)
        ? { code: 'uri_too_long', message: 'The request target is too long.' }
        : { code: 'headers_too_large', message: 'The request headers are too large.' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { code: 'body_too_large', message: 'The chunk extensions are too large.' };
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return {
        code: 'http_version_not_supported',
        message: 'Only HTTP/1.1 and HTTP/1.0 are spoken here.',
      };
    case 'HPE_INVALID_METHOD':
      return methodFault(fault.rawPacket);
    default:
      return { code: 'malformed_request', message: 'This is not a well-formed HTTP request.' };
  }
}

/** Whether all that overflowed is one line: then it is the target that is too long. */
function isRequestLine(packet: Buffer | undefined): boolean {
  return (
    packet !== undefined &&
    /^[A-Z]+ /.test(packet.toString('latin1', 0, 16)) &&
    !packet.includes('\n')
  );
}

/** A method that is a proper word but unknown is 501; anything else is no request at all. */
function methodFault(packet: Buffer | undefined): Explained {
  const head = packet?.toString('latin1', 0, 256) ?? '';
  if (/^[\w!#$%&'*+.^`|~-]{1,64} \S+ HTTP\/1\.[01]\r?\n/.test(head)) {
    return { code: 'not_implemented', message: 'This method is not known here.' };
  }
  if (/ HTTP\/(?!1\.[01]\r?\n)\d/.test(head)) {
    return {
      code: 'http_version_not_supported',
      message: 'Only HTTP/1.1 and HTTP/1.0 are spoken here.',
    };
  }
  return { code: 'malformed_request', message: 'This is not a well-formed HTTP request.' };
}
