import type { ErrorCode, Refusal } from '../domain/errors.ts';

/**
 * The used part of node:http. An import statement would also load its WebSocket client, which costs 13 MiB
 * and 50 ms at every start.
 */
export const { createServer, IncomingMessage, STATUS_CODES } =
  process.getBuiltinModule('node:http');

/** A request as the core sees it: no socket, so that a test can make one. */
export interface HttpRequest {
  method: string;
  /** The request target as it was sent: path and query, or the absolute form. */
  target: string;
  /** By lower-case name. Values of a repeated header are joined by ", " (RFC 9110). */
  headers: Readonly<Record<string, string | undefined>>;
  /** Why the request must be refused, whatever it asks for. */
  fault?: Refusal | undefined;
  /** The address of the other end of the connection: the client or a proxy. */
  address?: string | undefined;
  /** Reads the whole body. Throws `body_too_large` if it exceeds a limit. */
  readBody: () => Promise<Buffer>;
}

export interface HttpResponse {
  status: number;
  /** The code of an error. */
  code?: ErrorCode;
  /** Name, value, name, value, …: node:http does not copy headers in this form. */
  headers: readonly string[];
  body: string | Uint8Array;
  /** Given for a body of only ASCII characters, which node:http then sends without encoding it again. */
  encoding?: 'latin1' | undefined;
}

/** Responds to requests. Never throws. */
export interface Handler {
  handle(request: HttpRequest): Promise<HttpResponse>;
}

/** A page outside the interface. Anybody may request it, without a key. */
export type Page = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** By path: the console, the reference, the OpenAPI document and the health of the service. */
export type PublicPages = ReadonlyMap<string, Page>;

/** Instead of a path: the page for browsers that request a path that does not exist. */
export const NOT_FOUND = '*';

export const JSON_MEDIA_TYPE = 'application/json';

export function jsonResponse(
  status: number,
  body: string,
  headers: readonly string[] = [],
): HttpResponse {
  const bytes = Buffer.byteLength(body);
  return {
    status,
    headers: ['Content-Type', JSON_MEDIA_TYPE, 'Content-Length', String(bytes), ...headers],
    body,
    encoding: bytes === body.length ? 'latin1' : undefined,
  };
}

/** The head of a response after which the connection closes, as it is sent. */
export function headOfLast({ status, headers }: HttpResponse): string {
  const all = [...headers, 'Date', new Date().toUTCString(), 'Connection', 'close'];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let index = 0; index < all.length; index += 2) {
    head += `${all[index]}: ${all[index + 1]}\r\n`;
  }
  return `${head}\r\n`;
}

const REQUEST_ID = /^[\w.-]{1,128}$/;

/** Returns the id of a request for its response and the log: that of the caller if it is well-formed. */
export function requestIdOf(headers: HttpRequest['headers'], newRequestId: () => string): string {
  const given = headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : newRequestId();
}
