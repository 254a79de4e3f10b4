// Requests at the edge of HTTP, sent as bytes on a raw socket because no client library can send them. test/golden/malformed.txt
// has those that are refused.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ERRORS, type ErrorCode } from '../../src/domain/errors.ts';
import { CLIENT_TIMEOUTS } from '../../src/http/wire/server.ts';
import { exchange, parseResponses, type RawResponse } from '../../harness/raw-socket.ts';
import {
  SHORT_TIMEOUTS,
  sqliteStorage,
  startTestService,
  type TestService,
} from '../../harness/test-service.ts';

describe('Bytes on a raw socket', () => {
  let service: TestService;
  let port: number;
  const good = () =>
    `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n\r\n`;

  before(async () => {
    service = await startTestService(sqliteStorage);
    port = Number(new URL(service.baseUrl).port);
  });
  after(() => service.close());

  test('bare line feeds are refused with their own reason', async () => {
    const heads = ['GET / HTTP/1.1\nHost: a\n\n', 'GET / HTTP/1.1\r\nHost: a\n\n'];
    for (const head of heads) {
      const [response] = parseResponses(await exchange(port, [head]));
      assert.match(response?.body ?? '', /ends with a line feed alone/, JSON.stringify(head));
    }
  });

  test('a Host may be an IPv6 address with a port', async () => {
    const bytes = good().replace('Host: a', 'Host: [::1]:8080');
    const [response] = parseResponses(await exchange(port, [bytes]));
    assert.equal(response?.status, 200);
  });

  test('200 headers and a target of 8,192 characters are accepted', async () => {
    const target = '/v1/pets?x='.padEnd(8_192, 'a');
    const headers = 'A: a\r\n'.repeat(197);
    const bytes = good()
      .replace('/v1/pets', target)
      .replace('Host: a\r\n', `Host: a\r\n${headers}`);
    const [response] = parseResponses(await exchange(port, [bytes]));
    assert.equal(response?.status, 200);
  });

  test('a request that ends within its head is 400 malformed_request', async () => {
    const responses = parseResponses(await exchange(port, ['GET /v1/pets HTT'], { end: true }));
    assert.deepEqual(responses.map(codeOf), ['malformed_request']);
  });

  test('a create without Content-Length or Transfer-Encoding is 400 at once', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
    const [response] = parseResponses(await exchange(port, [`${head}\r\n`], { responsesMax: 1 }));
    assert.equal(response?.status, 400);
    assert.match(response?.body ?? '', /"code":"invalid_json","message":"The body is empty/);
  });

  test('a body that ends too early is 400 malformed_request, and nothing is stored', async () => {
    const listBefore = (await service.send('/pets?limit=100')).text;
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Length: 500\r\n\r\n`;
    const responses = parseResponses(
      await exchange(port, [`${head}{"name":"Half","categoryId":1}`], { end: true }),
    );
    assert.deepEqual(responses.map(codeOf), ['malformed_request']);
    assert.equal((await service.send('/pets?limit=100')).text, listBefore);
  });

  test('Expect: 100-continue gets 100 only if the service will read the body', async () => {
    const body = '{"name":"Patient","categoryId":1}';
    const head = (key: string, length = body.length) =>
      `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
    const [go, created] = parseResponses(
      await exchange(port, [head(service.key), body], { responsesMax: 2 }),
    );
    assert.equal(go?.status, 100);
    assert.equal(created?.status, 201);
    for (const [bytes, status] of [
      [head('wrong'), 401],
      [head(service.key, 64 * 1024 + 1), 413],
      [head(service.key, 0), 400],
    ] as const) {
      const [refused] = parseResponses(await exchange(port, [bytes], { responsesMax: 1 }));
      assert.equal(refused?.status, status);
    }
  });

  test('OPTIONS * is 204 with Allow', async () => {
    const [response] = parseResponses(
      await exchange(port, ['OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']),
    );
    assert.equal(response?.status, 204);
    assert.match(response?.head ?? '', /^allow: GET, HEAD, POST, OPTIONS$/im);
  });

  test('a request target in absolute form is accepted', async () => {
    const [response] = parseResponses(
      await exchange(port, [good().replace('/v1/pets', 'http://a/v1/pets')]),
    );
    assert.equal(response?.status, 200);
  });

  test('HTTP/1.0 needs no Host', async () => {
    const [response] = parseResponses(
      await exchange(port, [
        `GET /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
      ]),
    );
    assert.equal(response?.status, 200);
  });

  test('HTTP/1.0: Expect is ignored, so the service sends neither 100 nor 417', async () => {
    const body = '{"name":"Old","categoryId":1}';
    for (const expectation of ['100-continue', 'tea']) {
      const head = `POST /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${service.key}\r\nExpect: ${expectation}\r\nContent-Length: ${body.length}\r\n\r\n`;
      const responses = parseResponses(await exchange(port, [`${head}${body}`]));
      assert.deepEqual(
        responses.map(({ status }) => status),
        [201],
        expectation,
      );
    }
  });

  test('HTTP/1.0 with Transfer-Encoding is 400, and the connection closes', async () => {
    const head = `POST /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${service.key}\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunk = '{"name":"Old","categoryId":1}';
    const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`;
    const responses = parseResponses(await exchange(port, [`${head}${chunks}`]));
    assert.deepEqual(responses.map(codeOf), ['malformed_request']);
    assert.match(responses[0]?.head ?? '', /^connection: close$/im);
  });

  test('408 for a head that takes over 10 seconds, and for a request that takes over 15 seconds', async (t) => {
    assert.deepEqual(CLIENT_TIMEOUTS, {
      headersMs: 10_000,
      requestMs: 15_000,
      checkMs: 100,
      sweepMs: 1_000,
    });
    const impatient = await startTestService(sqliteStorage, { clientTimeouts: SHORT_TIMEOUTS });
    t.after(() => impatient.close());
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${impatient.key}\r\n`;
    const drips = [head, `${head}Content-Length: 100\r\n\r\n{"name"`];
    const impatientPort = Number(new URL(impatient.baseUrl).port);
    const received = await Promise.all(drips.map((drip) => exchange(impatientPort, [drip])));
    for (const text of received) {
      assert.deepEqual(parseResponses(text).map(codeOf), ['request_timeout']);
    }
    assert.equal((await impatient.send('/pets')).text, '[]');
  });
});

/** Asserts the headers and the body that every Error has, and returns its code. */
function codeOf({ status, head, body }: RawResponse): string {
  assert.ok(status >= 400, `${status} is not an error: ${head}`);
  assert.match(head, /^content-type: application\/json$/im);
  assert.match(head, /^cache-control: no-store$/im);
  const error = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(error), ['code', 'message', 'status']);
  assert.equal(error['status'], status);
  assert.equal(ERRORS[error['code'] as ErrorCode].status, status);
  return String(error['code']);
}
