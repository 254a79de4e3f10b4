import type { ErrorCode } from '../src/domain/errors.ts';

/** Without a code, the response is 400 `malformed_request`. */
type Malformed = [why: string, bytes: string | Buffer, code?: ErrorCode];

const head = 'GET /v1/pets HTTP/1.1\r\n';
const good = 'Host: a\r\nAuthorization: Bearer {KEY}\r\n';
const post = `POST /v1/pets HTTP/1.1\r\n${good}`;
const controls = [0x00, 0x01, 0x07, 0x08, 0x0b, 0x0c, 0x0e, 0x1b, 0x1f, 0x7f];

/** Bytes that no client library would send, each with what is wrong. `{KEY}` is replaced by a valid key. */
export const malformedRequests: Malformed[] = [
  // The request line.
  ['nothing but line ends', '\r\n\r\n\r\n\r\nx\r\n\r\n'],
  ['a word', 'hello\r\n\r\n'],
  ['a greeting of another protocol', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'],
  ['a TLS client hello', Buffer.from('16030100a5010000a10303000102030405060708', 'hex')],
  ['random bytes', Buffer.from(Array.from({ length: 200 }, (_, index) => (index * 73 + 11) % 256))],
  ['all zeros', Buffer.alloc(64)],
  ['all ones', Buffer.alloc(64, 0xff)],
  ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'http_version_not_supported'],
  ['HTTP/0.9', 'GET /v1/pets\r\n\r\n', 'http_version_not_supported'],
  ['HTTP/2.0', `GET /v1/pets HTTP/2.0\r\n${good}\r\n`, 'http_version_not_supported'],
  [
    'HTTP/2.0 and a long target',
    `GET /v1/pets?x=${'a'.repeat(500)} HTTP/2.0\r\n${good}\r\n`,
    'http_version_not_supported',
  ],
  [
    'a blank line and HTTP/2.0',
    `\r\nGET /v1/pets HTTP/2.0\r\n${good}\r\n`,
    'http_version_not_supported',
  ],
  ['HTTP/1.2', `GET /v1/pets HTTP/1.2\r\n${good}\r\n`, 'http_version_not_supported'],
  ['HTTP/9.9', `GET /v1/pets HTTP/9.9\r\n${good}\r\n`, 'http_version_not_supported'],
  ['HTTP/1', `GET /v1/pets HTTP/1\r\n${good}\r\n`],
  ['HTTP/1.1.1', `GET /v1/pets HTTP/1.1.1\r\n${good}\r\n`],
  ['http in small letters', `GET /v1/pets http/1.1\r\n${good}\r\n`],
  ['another protocol name', `GET /v1/pets ICY/1.1\r\n${good}\r\n`],
  ['no version', `GET /v1/pets \r\n${good}\r\n`],
  ['no target', `GET HTTP/1.1\r\n${good}\r\n`],
  ['a tab for a space', `GET\t/v1/pets\tHTTP/1.1\r\n${good}\r\n`],
  ['a space in the target', `GET /v1/ pets HTTP/1.1\r\n${good}\r\n`],
  ['a leading space', ` GET /v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['an unknown method', `FETCH /v1/pets HTTP/1.1\r\n${good}\r\n`, 'not_implemented'],
  [
    'an unknown method and a long target',
    `FETCH /v1/pets?x=${'a'.repeat(500)} HTTP/1.1\r\n${good}\r\n`,
    'not_implemented',
  ],
  ['a method in small letters', `get /v1/pets HTTP/1.1\r\n${good}\r\n`, 'not_implemented'],
  ['a method with a digit', `GET1 /v1/pets HTTP/1.1\r\n${good}\r\n`, 'not_implemented'],
  ['bare line feeds', 'GET /v1/pets HTTP/1.1\nHost: a\nAuthorization: Bearer {KEY}\n\n'],
  ['a method with a colon', `G:T /v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['a method with a colon, and bare line feeds', 'G:T /v1/pets HTTP/1.1\nHost: a\n\n'],
  ['an empty method', ` /v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['a very long method', `${'A'.repeat(5000)} /v1/pets HTTP/1.1\r\n${good}\r\n`, 'not_implemented'],
  ['a target without a slash', `GET v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['an absolute target without a host', `GET http:///v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['an absolute target with a port alone', `GET http://:80/v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['an absolute target with a user', `GET http://a@b/v1/pets HTTP/1.1\r\n${good}\r\n`],
  ['an absolute target of nothing', `GET https:// HTTP/1.1\r\n${good}\r\n`],
  ['a target with a fragment', `GET #top HTTP/1.1\r\n${good}\r\n`],
  ['a target with a backslash', `GET \\v1\\pets HTTP/1.1\r\n${good}\r\n`],
  ['a bare CR in the request line', `GET /v1/pets\rHTTP/1.1\r\n${good}\r\n`],
  ['a NUL in the target', `GET /v1/p\0ts HTTP/1.1\r\n${good}\r\n`],
  [
    'a target of 9,000 characters',
    `GET /v1/pets?x=${'a'.repeat(9000)} HTTP/1.1\r\n${good}\r\n`,
    'uri_too_long',
  ],
  [
    'a target of 17,000 characters',
    `GET /v1/pets?x=${'a'.repeat(17_000)} HTTP/1.1\r\n${good}\r\n`,
    'uri_too_long',
  ],
  [
    'a target of 100,000 characters',
    `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${good}\r\n`,
    'uri_too_long',
  ],
  ['CONNECT', `CONNECT example.org:443 HTTP/1.1\r\n${good}\r\n`, 'not_implemented'],
  ['CONNECT to a path', `CONNECT /v1/pets HTTP/1.1\r\n${good}\r\n`, 'not_implemented'],
  // Host.
  ['no Host', `${head}Authorization: Bearer {KEY}\r\n\r\n`],
  ['an empty Host', `${head}Authorization: Bearer {KEY}\r\nHost:\r\n\r\n`],
  ['two Hosts', `${head}${good}Host: b\r\n\r\n`],
  ['two equal Hosts', `${head}${good}Host: a\r\n\r\n`],
  ['a Host with a space', `${head}Authorization: Bearer {KEY}\r\nHost: a b\r\n\r\n`],
  ['a Host with a path', `${head}Authorization: Bearer {KEY}\r\nHost: a/b\r\n\r\n`],
  ['a Host with a word for a port', `${head}Authorization: Bearer {KEY}\r\nHost: x:abc\r\n\r\n`],
  ['a Host with a user', `${head}Authorization: Bearer {KEY}\r\nHost: u@a\r\n\r\n`],
  // Header fields.
  ['a header without a colon', `${head}${good}Nonsense\r\n\r\n`],
  ['a header without a name', `${head}${good}: value\r\n\r\n`],
  ['a space before the colon', `${head}${good}Accept : a\r\n\r\n`],
  ['a space in a header name', `${head}${good}Acc ept: a\r\n\r\n`],
  ['a folded header', `${head}${good}Accept: a\r\n b\r\n\r\n`],
  ['a folded first header', `${head} folded: a\r\n${good}\r\n`],
  ['a header name in brackets', `${head}${good}(Accept): a\r\n\r\n`],
  ['bytes beyond ASCII in a header name', Buffer.from(`${head}${good}Accépt: a\r\n\r\n`, 'latin1')],
  ['a bare CR in a header', `${head}${good}Accept: a\rb\r\n\r\n`],
  ['a bare LF after a header', `${head}${good}Accept: a\nAccept: b\n\n`],
  [
    '20,000 bytes of one header',
    `${head}${good}X-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
    'headers_too_large',
  ],
  [
    '20,000 bytes of many headers',
    `${head}${good}${'X-Many: a\r\n'.repeat(2000)}\r\n`,
    'headers_too_large',
  ],
  ['201 headers', `${head}${good}${'A: a\r\n'.repeat(199)}\r\n`, 'headers_too_large'],
  [
    'a header name of 20,000 bytes',
    `${head}${good}${'X'.repeat(20_000)}: a\r\n\r\n`,
    'headers_too_large',
  ],
  ...controls.map((control): Malformed => [
    `the control character ${control} in a header value`,
    `${head}${good}Accept: a${String.fromCodePoint(control)}b\r\n\r\n`,
  ]),
  ...controls.map((control): Malformed => [
    `the control character ${control} in a header name`,
    `${head}${good}Acc${String.fromCodePoint(control)}ept: b\r\n\r\n`,
  ]),
  // The length of the body, which request smuggling uses.
  ['two different lengths', `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
  ['two equal lengths', `${post}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ['a list of lengths', `${post}Content-Length: 5, 5\r\n\r\nhello`],
  ['a negative length', `${post}Content-Length: -5\r\n\r\nhello`],
  ['a length with a plus', `${post}Content-Length: +5\r\n\r\nhello`],
  ['a hexadecimal length', `${post}Content-Length: 0x5\r\n\r\nhello`],
  ['a fraction as length', `${post}Content-Length: 5.0\r\n\r\nhello`],
  ['an empty length', `${post}Content-Length: \r\n\r\nhello`],
  ['a word as length', `${post}Content-Length: five\r\n\r\nhello`],
  ['a length beyond 2^64', `${post}Content-Length: 99999999999999999999999\r\n\r\nhello`],
  [
    'a length and chunks',
    `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'chunks and a length',
    `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  ],
  ['an unknown transfer coding', `${post}Transfer-Encoding: gzip\r\n\r\nhello`],
  [
    'gzip, then chunked',
    `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    'not_implemented',
  ],
  ['chunked, then gzip', `${post}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
  [
    'chunked twice',
    `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['chunked, misspelt', `${post}Transfer-Encoding: chunkedd\r\n\r\n0\r\n\r\n`],
  ['chunked with a prefix', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ['chunked with a tab', `${post}Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n`],
  ['identity as transfer coding', `${post}Transfer-Encoding: identity\r\n\r\nhello`],
  [
    'an unknown transfer coding in HTTP/1.0',
    `POST /v1/pets HTTP/1.0\r\n${good}Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n`,
  ],
  // Chunks.
  [
    'a chunk size that is no number',
    `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n`,
  ],
  ['a negative chunk size', `${post}Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n`],
  ['a chunk size with 0x', `${post}Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n`],
  [
    'a chunk size beyond 2^64',
    `${post}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n`,
  ],
  [
    'a chunk longer than its size',
    `${post}Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`,
  ],
  ['a chunk without its end', `${post}Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n`],
  ['an empty chunk size', `${post}Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n`],
  [
    '30,000 bytes of chunk extensions',
    `${post}Transfer-Encoding: chunked\r\n\r\n5;${'a'.repeat(30_000)}\r\nhello\r\n0\r\n\r\n`,
    'body_too_large',
  ],
  ['a malformed trailer', `${post}Transfer-Encoding: chunked\r\n\r\n0\r\nBad Trailer\r\n\r\n`],
  // Expectations and upgrades.
  [
    'an unknown expectation',
    `${post}Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}`,
    'expectation_failed',
  ],
  ['an expectation of tea', `${head}${good}Expect: tea\r\n\r\n`, 'expectation_failed'],
  [
    'an upgrade to nothing',
    `POST /v1/pets HTTP/1.1\r\n${good}Connection: Upgrade\r\nUpgrade: nothing\r\nContent-Length: 2\r\n\r\n{}`,
    'missing_field',
  ],
  [
    'a WebSocket',
    `DELETE /v1/pets HTTP/1.1\r\n${good}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    'method_not_allowed',
  ],
];
