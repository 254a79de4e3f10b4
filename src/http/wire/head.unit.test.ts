import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../domain/errors.ts';
import { CUT_SHORT } from './body.ts';
import { explainClientFault, TARGET_LENGTH_MAX } from './head.ts';

const FIRST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const REST = '\r\nHost: a\r\nAccept: b\r\n\r\n';

/** The beginning of a request with a target of any length. */
const lineOf = (length: number) => `GET /${'a'.repeat(length - 'GET /'.length)}`;

/** What a caller is told of bytes in which the parser has stopped after `bytesParsed` of them. */
function explain(code: string, bytes?: string, bytesParsed?: number) {
  const packet = bytes === undefined ? {} : { rawPacket: Buffer.from(bytes, 'latin1') };
  const place = bytesParsed === undefined ? {} : { bytesParsed };
  return explainClientFault(Object.assign(new Error(code), { code, ...packet, ...place }));
}

test('a client that is gone gets no response', () => {
  for (const code of ['ECONNRESET', 'EPIPE']) assert.equal(explain(code), undefined);
});

test('a refusal that is made once has no stack, which would name the place of the constant', () => {
  const explained = explain('HPE_HEADER_OVERFLOW', lineOf(TARGET_LENGTH_MAX));
  assert.equal(explained?.code, 'headers_too_large');
  assert.deepEqual([explained.stack, CUT_SHORT.stack], [undefined, undefined]);
});

test('a head that is too large is 414 if its target is, and otherwise 431', () => {
  const cases: [bytes: string, code: ErrorCode][] = [
    [lineOf(TARGET_LENGTH_MAX), 'headers_too_large'],
    [lineOf(TARGET_LENGTH_MAX + 1), 'uri_too_long'],
    [`${lineOf(100)} HTTP/1.1\r\nX-Long: ${'a'.repeat(9_000)}`, 'headers_too_large'],
  ];
  for (const [bytes, code] of cases) {
    assert.equal(explain('HPE_HEADER_OVERFLOW', bytes)?.code, code, bytes.slice(0, 30));
  }
  const long = `${FIRST}x: A ${'a'.repeat(9_000)}`;
  assert.equal(explain('HPE_HEADER_OVERFLOW', long, long.length)?.code, 'headers_too_large');
  const second = `${FIRST}${lineOf(9_000)}`;
  assert.equal(explain('HPE_HEADER_OVERFLOW', second, second.length)?.code, 'uri_too_long');
});

const LINES: [fault: string, line: string, code: ErrorCode][] = [
  ['HPE_INVALID_VERSION', 'GET /v1/pets HTTP/2.0', 'http_version_not_supported'],
  ['HPE_INVALID_VERSION', 'GET /v1/pets HTTP/1.2', 'http_version_not_supported'],
  ['HPE_INVALID_VERSION', 'GET /v1/pets', 'http_version_not_supported'],
  ['HPE_INVALID_VERSION', 'GET /v1/pets HTTP/1.1', 'malformed_request'],
  ['HPE_INVALID_VERSION', 'GET /a b HTTP/2.0', 'malformed_request'],
  ['HPE_INVALID_VERSION', 'GET /v1/pets HTTP/x.0', 'malformed_request'],
  ['HPE_INVALID_METHOD', 'FETCH /v1/pets HTTP/1.1', 'not_implemented'],
  ['HPE_INVALID_METHOD', 'A / HTTP/1.0', 'not_implemented'],
  ['HPE_INVALID_METHOD', 'G:T /v1/pets HTTP/1.1', 'malformed_request'],
  ['HPE_INVALID_METHOD', 'G:T /v1/pets HTTP/2.0', 'http_version_not_supported'],
  ['HPE_INVALID_METHOD', 'G:T /v1/pets', 'malformed_request'],
  ['HPE_PAUSED_H2_UPGRADE', 'PRI * HTTP/2.0', 'http_version_not_supported'],
  ['HPE_INVALID_HEADER_TOKEN', 'GET / HTTP/1.1', 'malformed_request'],
];
for (const [fault, line, code] of LINES) {
  test(`${fault} in "${line}" is ${code}, also behind another request and without CR`, () => {
    assert.equal(explain(fault, line + REST)?.code, code);
    assert.equal(explain(fault, line + REST.replaceAll('\r', ''))?.code, code);
    const packet = FIRST + line + REST;
    const ends = [FIRST.length + 1, FIRST.length + line.length, FIRST.length + line.length + 1];
    for (const end of ends) assert.equal(explain(fault, packet, end)?.code, code, `${end}`);
  });
}

test('a fault without bytes is 400, 408 or 431', () => {
  assert.equal(explain('HPE_INVALID_METHOD')?.code, 'malformed_request');
  assert.equal(explain('ERR_HTTP_REQUEST_TIMEOUT')?.code, 'request_timeout');
  assert.equal(explain('HPE_HEADER_OVERFLOW')?.code, 'headers_too_large');
});
