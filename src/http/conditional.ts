import { hash } from 'node:crypto';
import { jsonResponse, type HttpRequest, type HttpResponse } from './message.ts';

const ETAG_LENGTH = 22;

/** A 200 that a client may cache and revalidate. The ETag covers the Link, which can change alone. */
export interface Representation {
  etag: string;
  response: HttpResponse;
  notModified: HttpResponse;
}

export function newRepresentation(body: string, link?: string): Representation {
  const digest = hash('sha256', link === undefined ? body : `${link}\n${body}`, 'base64url');
  const etag = `"${digest.slice(0, ETAG_LENGTH)}"`;
  const headers = ['Cache-Control', 'private, no-cache', 'ETag', etag];
  if (link !== undefined) headers.push('Link', link);
  return {
    etag,
    response: jsonResponse(200, body, headers),
    notModified: { status: 304, headers, body: '' },
  };
}

export function respondConditionally(
  request: HttpRequest,
  { etag, response, notModified }: Representation,
): HttpResponse {
  const known = request.headers['if-none-match'];
  if (known === undefined) return response;
  const isKnown = known.trim() === '*' || known.split(',').some((tag) => isSameTag(tag, etag));
  return isKnown ? notModified : response;
}

/** The weak comparison that If-None-Match calls for: `W/` makes no difference. */
function isSameTag(tag: string, etag: string): boolean {
  return tag.trim().replace(/^W\//, '') === etag;
}
