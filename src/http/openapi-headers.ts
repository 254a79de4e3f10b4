/** Every header of an answer that the interface gives a meaning to. */
export const HEADERS = {
  'X-Request-Id': header('Names this exchange in the log of the service.', 'Hk2p0b7Yc1nq'),
  Link: header(
    'RFC 8288. On a list: `rel="next"` until the last page, and `rel="first"`. On the deprecated operation: `rel="successor-version"` and `rel="deprecation"`.',
    '<http://127.0.0.1:8080/v1/pets?cursor=AAAAAAAAAAAAFAnHVOs>; rel="next", <http://127.0.0.1:8080/v1/pets>; rel="first"',
  ),
  ETag: header(
    'Changes with the body or the Link; send it back as If-None-Match.',
    '"Jr8ccmnLrVqBmYJ2p3wE1g"',
  ),
  'Cache-Control': header('How the answer may be kept.', 'private, no-cache'),
  Location: header(
    'Where the new animal is; left out once getPet is removed.',
    'http://127.0.0.1:8080/v1/pets/1',
  ),
  'Idempotency-Replayed': header('`true` when this create had happened before.', 'true'),
  'Preference-Applied': header(
    'Present when `Prefer: handling=strict` was honoured.',
    'handling=strict',
  ),
  Deprecation: header('RFC 9745: since when the operation is deprecated.', '@1794614400'),
  Sunset: header('RFC 8594: when the operation is removed.', 'Thu, 05 Dec 2030 00:00:00 GMT'),
  'WWW-Authenticate': header('The challenge (RFC 6750).', 'Bearer realm="petstore"'),
  'Accept-Post': header('The media type that is read.', 'application/json'),
  'Retry-After': header('Seconds after which to try again.', '1'),
  RateLimit: header(
    'When a rate limit is configured: what is left, and for how long.',
    '"default";r=599;t=60',
  ),
  'RateLimit-Policy': header('When a rate limit is configured: the limit.', '"default";q=600;w=60'),
};

function header(description: string, example: string): object {
  return { description, schema: { type: 'string' }, example };
}
