import type { ErrorCode, Refusal } from '../domain/errors.ts';

/** A request as the core sees it: no socket, so that a test can make one. */
export interface HttpRequest {
  method: string;
  /** The request target as it was sent: path and query, or the absolute form. */
  target: string;
  /** By lower-case name. Values of a repeated header are joined by ", " (RFC 9110). */
  headers: Readonly<Record<string, string | undefined>>;
  /** Why the request must be refused, whatever it asks for. */
  fault?: Refusal | undefined;
  /** Set by the app as soon as the key was accepted, before the body is read: the connection is that of a client. */
  hasAcceptedKey?: boolean;
  /** The address of the other end of the connection: the client or a proxy. */
  address?: string | undefined;
  /** Reads the whole body. Throws `body_too_large` if it exceeds a limit. */
  readBody: () => Promise<Buffer>;
}

export interface HttpResponse {
  status: number;
  /** The code of an error. */
  code?: ErrorCode;
  /** Name, value, name, value, …. The wire adds Content-Length, X-Content-Type-Options, Date and Connection. */
  headers: readonly string[];
  /** More such lists. One that is frozen is checked and encoded once, however often it is sent. */
  moreHeaders?: readonly (readonly string[])[];
  body: string;
  /** Each character of the body is one byte, as in a compressed file. Otherwise the body is a text. */
  isBinary?: boolean | undefined;
  /** The id of its request, which is also one of its headers. */
  requestId?: string;
}

/** The length of a body as it is sent. */
export function bytesOf({ body, isBinary }: HttpResponse): number {
  return isBinary ? body.length : Buffer.byteLength(body);
}

/** Responds to requests. Never throws. */
export interface Handler {
  handle(request: HttpRequest): Promise<HttpResponse>;
  /** How many bytes the body of a request to this target may have, where it is not the usual number. */
  bodyBytesMax?(target: string): number | undefined;
}

export const JSON_MEDIA_TYPE = 'application/json';

export function jsonResponse(
  status: number,
  body: string,
  headers: readonly string[] = [],
): HttpResponse {
  return { status, headers: ['Content-Type', JSON_MEDIA_TYPE, ...headers], body };
}

/** The response to OPTIONS. */
export function allow(methods: readonly string[], headers: readonly string[] = []): HttpResponse {
  return { status: 204, headers: ['Allow', methods.join(', '), ...headers], body: '' };
}

const REQUEST_ID = /^[\w.-]{1,128}$/;

/** Returns the id of a request for its response and the log: that of the caller if it is well-formed. */
export function requestIdOf(headers: HttpRequest['headers'], newRequestId: () => string): string {
  const given = headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : newRequestId();
}
