// nginx with contrib/nginx.conf in front of the real service: what it passes on, what it refuses itself, and restarts.
// test/project/contrib.unit.test.ts has what the files for the other proxies must say.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Link, type Linked } from '../../harness/link.ts';
import { Load } from '../../harness/load.ts';
import { needsProgram } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { exchange, headersOf, parseResponses } from '../../harness/raw-socket.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import {
  send,
  SHORT_TIMEOUTS,
  sqliteStorage,
  startTestService,
  type Sent,
  type TestServiceOptions,
} from '../../harness/test-service.ts';
import { freePort } from '../../harness/free-port.ts';
import { until } from '../../harness/until.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { assertError } from '../interface/errors.ts';
import { startNginx, type Nginx } from './nginx.ts';

const skip = needsProgram('nginx');
const REX = '{"name":"Rex","categoryId":7}';
const REQUESTS = 200;
const CLIENTS = 8;
const READY_MS_MAX = 30_000;

const portOf = (url: string) => Number(new URL(url).port);

async function start(t: TestContext, options?: TestServiceOptions) {
  const service = await startTestService(sqliteStorage, options);
  t.after(() => service.close());
  return { port: portOf(service.baseUrl), key: service.key };
}

/** nginx, a link to the service, and what nginx sent over the link. */
async function startBehindLink(t: TestContext, changes?: Record<string, string>) {
  const { port, key } = await start(t);
  const seen = { heads: [] as string[], connections: 0, ends: [] as string[], cutting: 0 };
  const link = await Link.open(port, () => {
    seen.connections += 1;
    return {
      isRequestPassed(chunk) {
        const [, head] = /^([A-Z]+ \S+ HTTP\/1\.1\r\n.*?)\r\n\r\n/s.exec(chunk.toString()) ?? [];
        if (head === undefined) return true;
        seen.heads.push(head);
        seen.cutting -= 1;
        return seen.cutting < 0;
      },
      onEnd: (by: Parameters<Linked['onEnd']>[0]) => seen.ends.push(by),
    };
  });
  t.after(() => link[Symbol.asyncDispose]());
  const nginx = await startNginx(t, [link.port], changes);
  const sendTo = (path: string, { headers, ...sent }: Sent = {}) =>
    send(`http://127.0.0.1:${nginx.port}${path}`, {
      ...sent,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
  const post = (body = REX) => sendTo('/v1/pets', { method: 'POST', body });
  return { nginx, link, seen, key, send: sendTo, post };
}

test(
  'nginx passes on requests and responses unchanged, over few connections',
  { skip },
  async (t) => {
    const { seen, send: get, post } = await startBehindLink(t);
    const sent = Array.from({ length: REQUESTS }, (_, index) =>
      index % 4 === 0 ? post() : get('/v1/pets'),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(
      statuses,
      sent.map((_, index) => (index % 4 === 0 ? 201 : 200)),
    );
    seen.connections = 0;
    for (let index = 0; index < 30; index += 1) await get('/v1/pets');
    assert.ok(seen.connections <= 1, `${seen.connections} connections`);

    const created = await post();
    assert.equal(created.headers['location'], `/v1/pets/${REQUESTS / 4 + 1}`);
    assertError(await post('{}'), 'missing_field');
    assertError(await post('x'.repeat(100_000)), 'body_too_large', /65536/);
    assertError(await get('/v1/pets', { headers: { authorization: '' } }), 'missing_api_key');
    assertError(await get('/v1/nothing'), 'route_not_found');
  },
);

test(
  'nginx passes Host on, replaces X-Forwarded headers, and gives HTTP/2 clients one connection',
  { skip },
  async (t) => {
    const { nginx, seen, key } = await startBehindLink(t);
    const session = connectHttp2(`https://127.0.0.1:${nginx.tlsPort}`, { ca: nginx.certificate });
    t.after(() => session.destroy());
    const headers = {
      ':path': '/v1/pets',
      authorization: `Bearer ${key}`,
      'x-forwarded-for': '192.0.2.1',
      'x-forwarded-proto': 'ftp',
      'x-forwarded-host': 'evil.example',
    };
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => once(session.request(headers), 'response')),
    );
    assert.deepEqual(
      responses.map(([received]) => received[':status']),
      responses.map(() => 200),
    );
    const head = seen.heads.at(-1) ?? '';
    assert.match(head, /^host: 127\.0\.0\.1(:\d+)?$/im);
    assert.match(head, /^x-forwarded-for: 127\.0\.0\.1$/im);
    assert.match(head, /^x-forwarded-proto: https$/im);
    assert.doesNotMatch(head, /192\.0\.2\.1|ftp|evil/);
  },
);

test('nginx sends a GET without a response again, and a POST never', { skip }, async (t) => {
  const { seen, link, send: get, post } = await startBehindLink(t);
  assert.equal((await get('/v1/pets')).status, 200);
  seen.cutting = 1;
  assert.equal((await get('/v1/pets')).status, 200);
  assert.equal(seen.heads.length, 3);

  seen.cutting = 1;
  const lost = await post();
  assertError(lost, 'unavailable');
  assert.equal(lost.headers['retry-after'], '1');
  assert.equal(seen.heads.length, 4);
  assert.equal((await post()).status, 201, 'one failure must not remove the service');

  await link[Symbol.asyncDispose]();
  assertError(await post(), 'unavailable');
});

test('nginx closes an idle connection before the service does', { skip }, async (t) => {
  const { seen, send: get } = await startBehindLink(t, {
    'keepalive_timeout 60s': 'keepalive_timeout 200ms',
  });
  assert.equal((await get('/v1/pets')).status, 200);
  await until('the connection is closed', () => seen.ends.length > 0);
  assert.equal(seen.ends[0], 'client');
});

const common = 'Authorization: Bearer {KEY}\r\nConnection: close\r\n';
const named = `Host: 127.0.0.1\r\n${common}`;
const list = `GET /v1/pets HTTP/1.1\r\n${named}`;
const create = `POST /v1/pets HTTP/1.1\r\n${named}`;

/** What is behind nginx: the service, one with short timeouts, a server that is silent, or nothing. */
type Behind = 'service' | 'hurried' | 'silent' | 'nothing';

/**
 * What a client gets for these bytes: the code of an Error, or a status. Without either, nginx closes the connection, and
 * logs 408.
 */
const FAULTS: [what: string, bytes: string, expected: ErrorCode | number | undefined, Behind?][] = [
  ['bytes that are not HTTP', 'hello\r\n\r\n', 'malformed_request'],
  ['no Host', `GET /v1/pets HTTP/1.1\r\n${common}\r\n`, 'malformed_request'],
  ['an invalid Host', `GET / HTTP/1.1\r\nHost: a/b\r\n${common}\r\n`, 'malformed_request'],
  // The service accepts every valid Host.
  ['another Host', `GET /v1/pets HTTP/1.1\r\nHost: other.example\r\n${common}\r\n`, 200],
  ['a long target', `GET /${'a'.repeat(9_000)} HTTP/1.1\r\n${named}\r\n`, 'uri_too_long'],
  ['a long header', `${list}X: ${'a'.repeat(20_000)}\r\n\r\n`, 'headers_too_large'],
  ['220 headers', `${list}${'X: a\r\n'.repeat(220)}\r\n`, 'headers_too_large'],
  ['a long body', `${create}Content-Length: 2097152\r\n\r\n${REX}`, 'body_too_large'],
  ['CONNECT', `CONNECT 127.0.0.1:443 HTTP/1.1\r\n${named}\r\n`, 'malformed_request'],
  ['TRACE', `TRACE /v1/pets HTTP/1.1\r\n${named}\r\n`, 'not_implemented'],
  ['HTTP/3.0', `GET /v1/pets HTTP/3.0\r\n${named}\r\n`, 'http_version_not_supported'],
  ['an unknown coding', `${create}Transfer-Encoding: gzip\r\n\r\n`, 'not_implemented'],
  // nginx removes `Expect`, which HTTP permits.
  ['an unknown Expect', `${create}Expect: cats\r\nContent-Length: 29\r\n\r\n${REX}`, 201],
  ['a head that does not arrive', list, undefined, 'hurried'],
  ['a slow body', `${create}Content-Length: 30\r\n\r\n{"name"`, 'request_timeout', 'hurried'],
  ['a service that does not respond', `${list}\r\n`, 'unavailable', 'silent'],
  ['a service that does not run', `${list}\r\n`, 'unavailable', 'nothing'],
];

const hurry = (setting: string) => ({ [setting]: setting.replace(/\d+s/, '1s') });

test(
  'what nginx refuses itself has the Error body too, and its id is in the log of nginx',
  { skip },
  async (t) => {
    const service = await start(t);
    const hurried = await start(t, { clientTimeouts: SHORT_TIMEOUTS });
    const silent = createServer((socket: Socket) => socket.resume()).listen(0, '127.0.0.1');
    t.after(() => silent.close());
    await once(silent, 'listening');
    const silentPort = (silent.address() as AddressInfo).port;
    const proxies = {
      service: await startNginx(t, [service.port]),
      hurried: await startNginx(t, [hurried.port], hurry('client_header_timeout 10s')),
      silent: await startNginx(t, [silentPort], hurry('proxy_read_timeout 30s')),
      nothing: await startNginx(t, [await freePort()]),
    };
    const check = async (nginx: Nginx, port: number, sent: (typeof FAULTS)[number]) => {
      const [what, bytes, expected, behind] = sent;
      const { key } = behind === 'hurried' ? hurried : service;
      const text = await exchange(port, [bytes.replace('{KEY}', key)]);
      if (expected === undefined) return assert.equal(text, '', what);
      const [response] = parseResponses(text);
      assert.ok(response !== undefined, `${what}: ${text}`);
      if (typeof expected === 'number') return assert.equal(response.status, expected, what);
      const headers = headersOf(response.head);
      const { status, body } = response;
      assertError({ status, headers, text: body, json: () => JSON.parse(body) }, expected);
      assert.equal(headers['retry-after'], expected === 'unavailable' ? '1' : undefined, what);
      const id = `"${headers['x-request-id']}"`;
      return until(`${what} is in the log`, () => nginx.log().includes(id));
    };
    for (const sent of FAULTS) {
      const nginx = proxies[sent[3] ?? 'service'];
      await check(nginx, nginx.port, sent);
    }
    const { tlsPort } = proxies.service;
    await check(proxies.service, tlsPort, ['plain HTTP', `${list}\r\n`, 'malformed_request']);
    const withId = (id: string) => `${list}X-Request-Id: ${id}\r\n\r\n`;
    await check(proxies.nothing, proxies.nothing.port, [
      'an id',
      withId('of-a-client'),
      'unavailable',
    ]);
    assert.match(proxies.nothing.log(), /"of-a-client"/);
    await check(proxies.service, proxies.service.port, ['no id', withId('not well-formed'), 200]);
    assert.match(proxies.service.log(), /"requestId":"\w{32}",[^\n]+\n$/);
  },
);

test(
  'behind nginx, a rolling restart and restarts of one of two services fail no request',
  { skip },
  async (t) => {
    const postgres = await PostgresServer.start();
    t.after(() => postgres.close());
    const database = postgres.url();
    const flags = ['--drain-delay', '1', '--log', 'info'];
    const rolling = await ServiceProcess.start({ database, flags: [...flags, '--workers', '2'] });
    const { key } = rolling;
    const services = [rolling, await ServiceProcess.start({ database, key, flags })];
    t.after(() => Promise.all(services.map((service) => service.kill())));
    const nginx = await startNginx(
      t,
      services.map(({ port }) => port),
    );
    const baseUrl = `http://127.0.0.1:${nginx.port}/v1`;
    const load = new Load({ key, baseUrl: () => baseUrl, createEvery: 4, pauseMs: 5 });
    load.start(CLIENTS);
    await load.untilAcknowledged(READY_MS_MAX);
    rolling.signal('SIGHUP');
    await until('the workers are replaced', () => rolling.restarts() === 1);
    const [, restarted = rolling] = services;
    assert.deepEqual(await restarted.stop(), []);
    const portFlags = ['--port', String(restarted.port)];
    services[1] = await ServiceProcess.start({ database, key, flags: [...flags, ...portFlags] });
    await load.untilAcknowledged(READY_MS_MAX);
    await load.stop();
    await load.compare(baseUrl);
    assert.deepEqual(load.violations, []);

    // The same load notices that no service is there.
    for (const service of services) await service.kill();
    load.start(1);
    await until('requests fail', () => load.violations.length > 0);
    await load.stop();
  },
);
