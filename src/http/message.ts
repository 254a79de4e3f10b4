/** A request as the core sees it: no socket, so that a test can make one. */
export interface HttpRequest {
  method: string;
  /** The request target as sent, in origin form: path and query. */
  target: string;
  /** By lower-case name. Values of a repeated header are joined by ", ", as RFC 9110 has it. */
  headers: Readonly<Record<string, string | undefined>>;
  /** Reads the whole body, or refuses with `body_too_large`. */
  readBody: (bytesMax: number) => Promise<Buffer>;
}

export interface HttpResponse {
  status: number;
  /** Name, value, name, value, …: the form in which node:http takes them without copying. */
  headers: readonly string[];
  body: string | Uint8Array;
  /** For a body of ASCII alone, which then leaves as it stands in memory. */
  encoding?: 'latin1' | undefined;
}

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

export function emptyResponse(status: number, headers: readonly string[] = []): HttpResponse {
  return { status, headers, body: '' };
}
