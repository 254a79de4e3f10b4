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
  /** Name, value, name, value, …, without those of the connection: Content-Length, Date and Connection. */
  headers: readonly string[];
  body: string;
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
  return { status, headers: ['Content-Type', JSON_MEDIA_TYPE, ...headers], body };
}

/** How a response is sent. */
interface Framing {
  /** The method of the request. Undefined if it never became one. */
  method?: string | undefined;
  /** Whether the connection closes after it. */
  isLast: boolean;
}

/**
 * A response as it is sent, and its encoding. The writer of node:http checks and joins the headers again for
 * every response, which took a tenth of the time of a list.
 */
export function encodeResponse(
  { status, headers, body }: HttpResponse,
  { method, isLast }: Framing,
): [text: string, encoding: 'latin1' | 'utf8'] {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  const length = Buffer.byteLength(body);
  // These two never have a body.
  if (status !== 204 && status !== 304) head += `Content-Length: ${length}\r\n`;
  head += `Date: ${dateNow()}\r\nConnection: ${isLast ? 'close' : 'keep-alive'}\r\n\r\n`;
  if (method === 'HEAD') return [head, 'latin1'];
  // ASCII has as many bytes as characters, and is sent without conversion.
  return [head + body, length === body.length ? 'latin1' : 'utf8'];
}

const now = { second: 0, date: '' };

/** The time for the header Date, which is formatted once per second. */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== now.second) {
    now.second = second;
    now.date = new Date(second * 1000).toUTCString();
  }
  return now.date;
}

const REQUEST_ID = /^[\w.-]{1,128}$/;

/** Returns the id of a request for its response and the log: that of the caller if it is well-formed. */
export function requestIdOf(headers: HttpRequest['headers'], newRequestId: () => string): string {
  const given = headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : newRequestId();
}
