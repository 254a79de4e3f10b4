// Requests at the edge of HTTP, sent as bytes on a raw socket because no client library can send them. test/golden/malformed.txt
// has those that are refused.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CLIENT_TIMEOUTS } from '../../src/http/wire/server.ts';
import { exchange, parseResponses } from '../../harness/raw-socket.ts';
import {
  SHORT_TIMEOUTS,
  sqliteStorage,
  startTestService,
  type TestService,
} from '../../harness/test-service.ts';

let service: TestService;
before(async () => {
  service = await startTestService(sqliteStorage);
});
after(() => service.close());

const key = 'Authorization: Bearer {KEY}\r\n';
const good = `GET /v1/pets HTTP/1.1\r\nHost: a\r\n${key}Connection: close\r\n\r\n`;
const post = (version: string, more: string) =>
  `POST /v1/pets HTTP/${version}\r\nHost: a\r\n${key}${more}`;
const REX = '{"name":"Rex","categoryId":1}';
const lengthOfRex = `Content-Length: ${REX.length}\r\n`;
const expecting = (length: number, authorization = key) =>
  post('1.1', `Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`).replace(
    key,
    authorization,
  );

/** The statuses of the responses, and a text of the last one. The client closes its half where the bytes end too early. */
const ROWS: [what: string, bytes: string, statuses: number[], contains?: string][] = [
  ['an IPv6 address with a port as Host', good.replace('Host: a', 'Host: [::1]:8080'), [200]],
  ['200 headers', good.replace('Host: a\r\n', `Host: a\r\n${'A: a\r\n'.repeat(197)}`), [200]],
  ['8,192 characters', good.replace('/v1/pets', '/v1/pets?x='.padEnd(8_192, 'a')), [200]],
  ['a target in absolute form', good.replace('/v1/pets', 'http://a/v1/pets'), [200]],
  [
    'OPTIONS *',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    [204],
    'Allow: GET, HEAD, POST, OPTIONS',
  ],
  ['HTTP/1.0 without Host', `GET /v1/pets HTTP/1.0\r\n${key}\r\n`, [200]],
  ['Expect in HTTP/1.0', post('1.0', `Expect: 100-continue\r\n${lengthOfRex}\r\n${REX}`), [201]],
  ['another Expect in HTTP/1.0', post('1.0', `Expect: tea\r\n${lengthOfRex}\r\n${REX}`), [201]],
  ['chunks in HTTP/1.0', post('1.0', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'), [400]],
  ['a create without a length', post('1.1', '\r\n'), [400], 'The body is empty'],
  ['an Expect', expecting(REX.length) + REX, [100, 201]],
  ['an Expect with a wrong key', expecting(9, 'Authorization: Bearer wrong\r\n'), [401]],
  ['an Expect of a long body', expecting(64 * 1024 + 1), [413]],
  ['an Expect of no body', expecting(0), [400]],
  ['the begin of a head', 'GET /v1/pets HTT', [400], 'malformed_request'],
  ['the begin of a body', post('1.1', `Content-Length: 500\r\n\r\n${REX}`), [400], 'malformed_'],
];

for (const [what, bytes, statuses, contains = ''] of ROWS) {
  test(`${what} is ${statuses.join(', then ')}`, async () => {
    const port = Number(new URL(service.baseUrl).port);
    const stored = (await service.send('/pets?limit=100')).text;
    const received = await exchange(port, [bytes.replace('{KEY}', service.key)], {
      responsesMax: statuses.length,
      end: what.startsWith('the begin'),
    });
    const responses = parseResponses(received);
    assert.deepEqual(
      responses.map(({ status }) => status),
      statuses,
    );
    assert.ok(received.includes(contains), received);
    const isStored = (await service.send('/pets?limit=100')).text !== stored;
    assert.equal(isStored, statuses.includes(201));
  });
}

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
    assert.match(text, /^HTTP\/1\.1 408 [^]*"code":"request_timeout"/);
  }
  assert.equal((await impatient.send('/pets')).text, '[]');
});
