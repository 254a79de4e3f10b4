import type { HttpRequest } from './message.ts';

const REQUEST_ID = /^[\w.-]{1,128}$/;

/** The id that names a request in its answer and in the log: the caller's own where it is well-formed. */
export function requestIdOf(
  headers: Readonly<HttpRequest['headers']>,
  newRequestId: () => string,
): string {
  const given = headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : newRequestId();
}
