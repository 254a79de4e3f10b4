/**
 * What is used of node:http. Importing it would also load its WebSocket client: 13 MiB, and 50 ms of every
 * start, for something that the service does not use.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** A request as the core sees it: no socket, so that a test can make one. */
export interface HttpRequest {
  method: string;
  /** The request target as it was sent: path and query, or the absolute form. */
  target: string;
  /** By lower-case name. Values of a repeated header are joined by ", " (RFC 9110). */
  headers: Readonly<Record<string, string | undefined>>;
  /** Reads the whole body, or refuses with `body_too_large`. */
  readBody: (bytesMax: number) => Promise<Buffer>;
}

export interface HttpResponse {
  status: number;
  /** Name, value, name, value, …: the form in which node:http takes them without copying. */
  headers: readonly string[];
  body: string | Uint8Array;
  /** For a body of ASCII alone, which node:http then sends without encoding it again. */
  encoding?: 'latin1' | undefined;
}

/** Makes the response to a request; it never throws. */
export interface Handler {
  handle(request: HttpRequest): Promise<HttpResponse>;
}

/** A page outside the interface. Anybody may request it, without a key. */
export type Page = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** By path: the console, the reference, the OpenAPI document and the health of the service. */
export type PublicPages = ReadonlyMap<string, Page>;

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

const REQUEST_ID = /^[\w.-]{1,128}$/;

/** The id that names a request in its response and in the log: the caller's own where it is well-formed. */
export function requestIdOf(headers: HttpRequest['headers'], newRequestId: () => string): string {
  const given = headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : newRequestId();
}
