// What no client library can send: bytes on a raw socket.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ERROR_STATUS } from '../src/domain/errors.ts';
import { malformedRequests } from './malformed-requests.ts';
import { exchange, parseAnswers, type RawAnswer } from './raw-socket.ts';
import { sqliteStorage, startTestService, type TestService } from './test-service.ts';

describe('Bytes on a raw socket', () => {
  let service: TestService;
  let port: number;
  const withKey = (bytes: string | Buffer) =>
    typeof bytes === 'string'
      ? Buffer.from(bytes.replaceAll('{KEY}', service.key), 'latin1')
      : bytes;
  const good = () =>
    `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n\r\n`;

  before(async () => {
    service = await startTestService(sqliteStorage);
    port = Number(new URL(service.baseUrl).port);
  });
  after(() => service.close());

  test('there are at least 100 malformed requests to try', () => {
    assert.ok(malformedRequests().length >= 100, String(malformedRequests().length));
  });

  for (const [why, bytes] of malformedRequests()) {
    test(`${why}: an Error or a closed connection, and the next request works`, async () => {
      const answers = parseAnswers(await exchange(port, [withKey(bytes)], { end: true }));
      for (const answer of answers) assertErrorBody(answer);
      const [next] = parseAnswers(await exchange(port, [good()]));
      assert.equal(next?.status, 200);
    });
  }

  const expected: [why: string, code: keyof typeof ERROR_STATUS][] = [
    ['HTTP/2.0', 'http_version_not_supported'],
    ['an HTTP/2 preface', 'http_version_not_supported'],
    ['an unknown method', 'not_implemented'],
    ['CONNECT', 'not_implemented'],
    ['gzip, then chunked', 'not_implemented'],
    ['a target of 9,000 characters', 'uri_too_long'],
    ['a target of 100,000 characters', 'uri_too_long'],
    ['20,000 bytes of one header', 'headers_too_large'],
    ['20,000 bytes of many headers', 'headers_too_large'],
    ['no Host', 'malformed_request'],
    ['two Hosts', 'malformed_request'],
    ['two different lengths', 'malformed_request'],
    ['a length and chunks', 'malformed_request'],
    ['a chunk size that is no number', 'malformed_request'],
    ['random bytes', 'malformed_request'],
    ['an unknown expectation', 'expectation_failed'],
  ];
  for (const [why, code] of expected) {
    test(`${why} is ${ERROR_STATUS[code]} ${code}, and the connection closes`, async () => {
      const bytes = malformedRequests().find(([name]) => name === why)?.[1] ?? '';
      const [answer] = parseAnswers(await exchange(port, [withKey(bytes)]));
      assert.ok(answer);
      assertErrorBody(answer);
      assert.equal((JSON.parse(answer.body) as { code: string }).code, code);
      assert.match(answer.head, /^connection: close$/im);
      assert.match(answer.head, /^x-request-id: [\w.-]+$/im);
    });
  }

  test('a request cut off in its head is answered once, or not at all', async () => {
    const answers = parseAnswers(await exchange(port, ['GET /v1/pets HTT'], { end: true }));
    assert.ok(answers.length <= 1);
    for (const answer of answers) assertErrorBody(answer);
  });

  test('a create that announces no body is told so at once', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
    const [answer] = parseAnswers(await exchange(port, [`${head}\r\n`], { answersMax: 1 }));
    assert.equal(answer?.status, 400);
    assert.match(answer?.body ?? '', /"code":"invalid_json","message":"The body is empty/);
  });

  test('a body cut short stores nothing', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Length: 500\r\n\r\n`;
    const answers = parseAnswers(
      await exchange(port, [`${head}{"name":"Half","categoryId":1}`], { end: true }),
    );
    for (const answer of answers) assertErrorBody(answer);
    assert.equal((await service.send('/pets')).text, '[]');
  });

  test('pipelined requests are answered in order, and garbage behind them gets no answer of theirs', async () => {
    const one = `GET /v1/pets?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nX-Request-Id: one\r\n\r\n`;
    const two = one.replace('X-Request-Id: one', 'X-Request-Id: two');
    const answers = parseAnswers(await exchange(port, [`${one}${two}garbage\r\n\r\n`]));
    assert.deepEqual(
      answers.slice(0, 2).map(({ head }) => /x-request-id: (\w+)/i.exec(head)?.[1]),
      ['one', 'two'],
    );
    for (const answer of answers.slice(2)) assertErrorBody(answer);
  });

  test('a create behind which comes a garbled body is still answered, and first', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
    const body = '{"name":"First","categoryId":1}';
    const bytes = `${head}Content-Length: ${body.length}\r\n\r\n${body}${head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`;
    const answers = parseAnswers(await exchange(port, [bytes]));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 400],
    );
  });

  test('Expect: 100-continue is told to go on only when the body will be read', async () => {
    const body = '{"name":"Patient","categoryId":1}';
    const head = (key: string) =>
      `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
    const [go, created] = parseAnswers(
      await exchange(port, [head(service.key), body], { answersMax: 2 }),
    );
    assert.equal(go?.status, 100);
    assert.equal(created?.status, 201);
    const [refused] = parseAnswers(await exchange(port, [head('wrong')], { answersMax: 1 }));
    assert.equal(refused?.status, 401);
  });

  test('OPTIONS * is answered', async () => {
    const [answer] = parseAnswers(
      await exchange(port, ['OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']),
    );
    assert.equal(answer?.status, 204);
    assert.match(answer?.head ?? '', /^allow: GET, HEAD, POST, OPTIONS$/im);
  });

  test('a request in absolute form is answered', async () => {
    const [answer] = parseAnswers(
      await exchange(port, [good().replace('/v1/pets', 'http://a/v1/pets')]),
    );
    assert.equal(answer?.status, 200);
  });

  test('an offer to upgrade is ignored, as HTTP allows, and the request answered', async () => {
    const offer = 'Connection: close, Upgrade\r\nUpgrade: h2c\r\n';
    const [answer] = parseAnswers(
      await exchange(port, [good().replace('Connection: close\r\n', offer)]),
    );
    assert.equal(answer?.status, 200);
  });

  test('HTTP/1.0 needs no Host', async () => {
    const [answer] = parseAnswers(
      await exchange(port, [
        `GET /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
      ]),
    );
    assert.equal(answer?.status, 200);
  });

  test('a client that drips its head is told 408 after 10 seconds, one that drips its body after 15', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
    const drips = [head, `${head}Content-Length: 100\r\n\r\n{"name"`];
    const received = await Promise.all(drips.map((drip) => exchange(port, [drip])));
    for (const text of received) {
      const [answer] = parseAnswers(text);
      assert.ok(answer, text);
      assert.equal(answer.status, 408);
      assertErrorBody(answer);
    }
    assert.equal((await service.send('/pets?limit=100')).text.includes('"name"'), true);
  });
});

function assertErrorBody({ status, head, body }: RawAnswer): void {
  assert.ok(status >= 400, `${status} is no refusal: ${head}`);
  assert.match(head, /^content-type: application\/json$/im);
  assert.match(head, /^cache-control: no-store$/im);
  const error = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(error), ['code', 'message', 'status']);
  assert.equal(error['status'], status);
  assert.equal(ERROR_STATUS[error['code'] as keyof typeof ERROR_STATUS], status);
}
