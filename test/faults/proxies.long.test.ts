// The configurations in contrib/, each checked by its own program and used in front of a real service.

import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { after, before, describe, test } from 'node:test';
import type { Link } from '../../harness/link.ts';
import { needsProgram } from '../../harness/needs.ts';
import {
  Proxy,
  PROXY_PROGRAMS,
  type ProxyProgram,
  type ThroughProxy,
} from '../../harness/proxies.ts';
import { Relay } from './relay.ts';
import {
  sqliteStorage,
  startTestService,
  type Received,
  type TestService,
} from '../../harness/test-service.ts';
import { assertError } from '../interface/errors.ts';
import { Http2Client } from '../../harness/proxy-clients.ts';
import { until } from '../../harness/until.ts';

const REX = '{"name":"Rex","categoryId":7}';
const CLOSE_MS_MAX = 30_000;

for (const kind of PROXY_PROGRAMS) {
  const skip = needsProgram(kind.program);
  describe(`contrib/${kind.file}`, { skip, concurrency: false }, () => proxySuite(kind));
}

function proxySuite(kind: ProxyProgram): void {
  let service: TestService;
  let relay: Relay;
  let link: Link;
  let proxy: Proxy;
  let agent: Agent;
  const send = (path: string, options: ThroughProxy = {}, body?: string) =>
    proxy.send(path, body, {
      agent,
      ...options,
      headers: { authorization: `Bearer ${service.key}`, ...options.headers },
    });
  const post = (body = REX) => send('/v1/pets', { method: 'POST' }, body);
  const posts = () => relay.heads.filter((head) => head.startsWith('POST')).length;

  before(async () => {
    service = await startTestService(sqliteStorage);
    relay = new Relay();
    link = await relay.open(Number(new URL(service.baseUrl).port));
    proxy = await Proxy.configure(kind, [link.port]);
    await proxy.start();
    agent = new Agent({ keepAlive: true, maxSockets: 1, ca: proxy.certificate });
  });
  after(async () => {
    agent.destroy();
    await proxy.close();
    await link[Symbol.asyncDispose]();
    await service.close();
  });

  test(`${kind.name} accepts the configuration`, () => {
    const { code, output } = proxy.check();
    assert.equal(code, 0, output);
  });

  test('GET and POST get the responses of the service over few connections', async () => {
    for (let index = 1; index <= 30; index += 1) {
      const created = await post(`{"name":"Animal ${index}","categoryId":1}`);
      assert.equal(created.status, 201, created.text);
      assert.match(created.text, new RegExp(`^\\{"id":${index},"name":"Animal ${index}"`));
      assert.equal(created.headers['location'], `/v1/pets/${index}`);
      const page = await send('/v1/pets?limit=1');
      assert.equal(page.status, 200, page.text);
      assert.match(page.text, /^\[\{"id":1,"name":"Animal 1",.*\}\]$/);
    }
    assert.equal(relay.heads.length, 60);
    assert.ok(relay.connections.size <= 10, `${relay.connections.size} connections`);
  });

  test('200 requests over 16 client connections all get responses, over at most 32 connections to the service', async () => {
    const openedBefore = relay.connections.size;
    const many = new Agent({ keepAlive: true, maxSockets: 16, ca: proxy.certificate });
    const sent = Array.from({ length: 200 }, (_, index) =>
      index % 4 === 0
        ? send('/v1/pets', { agent: many, method: 'POST' }, REX)
        : send('/v1/pets', { agent: many }),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    many.destroy();
    const opened = relay.connections.size - openedBefore;
    assert.ok(opened <= 32, `${opened} connections`);
    assert.deepEqual(
      statuses.map((status, index) => [index, status]),
      statuses.map((_, index) => [index, index % 4 === 0 ? 201 : 200]),
    );
  });

  test('a client that uses HTTP/2 gets its responses over one connection', async (t) => {
    const client = new Http2Client(proxy);
    t.after(() => client.close());
    const headers = { authorization: `Bearer ${service.key}` };
    const sent = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? client.send('POST', headers, REX) : client.send('GET', headers),
    );
    const expected = sent.map((_, index) => (index % 2 === 0 ? 201 : 200));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(statuses, expected);
    assert.equal(client.sessions, 1);
  });

  test('errors of the service are passed on unchanged', async () => {
    assertError(await post('{}'), 'missing_field');
    assertError(await post('x'.repeat(100_000)), 'body_too_large', /65536/);
    assertError(await send('/v1/pets', { headers: { authorization: '' } }), 'missing_api_key');
    assertError(await send('/v1/nothing'), 'route_not_found');
  });

  test('Host is passed on, and X-Forwarded headers of the client are replaced', async () => {
    const claimed = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'ftp' };
    await send('/v1/pets', { headers: { ...claimed, 'x-forwarded-host': 'evil.example' } });
    const head = relay.heads.at(-1) ?? '';
    assert.match(head, /^host: 127\.0\.0\.1(:\d+)?$/im);
    assert.match(head, /^x-forwarded-for: 127\.0\.0\.1$/im);
    assert.match(head, /^x-forwarded-proto: https$/im);
    assert.doesNotMatch(head, /192\.0\.2\.1|ftp|evil/);
  });

  test('a GET is sent again if its kept connection closes without a response', async () => {
    await send('/v1/pets');
    relay.cutting = 1;
    assert.equal((await send('/v1/pets')).status, 200);
    assert.equal(relay.cutting, 0);
  });

  test('a POST whose connection closes without a response is sent once and is 503 unavailable', async () => {
    const postsBefore = posts();
    relay.cutting = 1;
    assertUnavailable(await send('/v1/pets', { method: 'POST', agent: false }, REX));
    assert.equal(posts(), postsBefore + 1);
    assert.equal((await post()).status, 201, 'one failure must not remove the service');
  });

  test('a POST on a kept connection that closes without a response is sent once', async () => {
    await send('/v1/pets');
    const postsBefore = posts();
    relay.cutting = 1;
    if (kind.closesOnLostPost) await assert.rejects(post(), { code: 'ECONNRESET' });
    else assertUnavailable(await post());
    assert.equal(posts(), postsBefore + 1);
    assert.equal((await post()).status, 201);
  });

  test('the proxy closes an idle connection before the service does', async (t) => {
    // Shorter than the second between two health checks, for which Caddy uses the same connection.
    const idleSetting = kind.idleSetting.replace(/\d+s/, '200ms');
    const impatient = await Proxy.configure(kind, [link.port], { idleSetting });
    t.after(() => impatient.close());
    await impatient.start();
    const { status } = await impatient.send('/v1/pets', undefined, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    assert.equal(status, 200);
    const kept = [...relay.connections].at(-1);
    await until('the connection is closed', () => kept?.endedBy !== undefined, CLOSE_MS_MAX);
    assert.equal(kept?.endedBy, 'client');
  });

  test('a POST is 503 unavailable with the Error body while the service is stopped', async () => {
    await link[Symbol.asyncDispose]();
    assertUnavailable(await post());
  });
}

/** Asserts the Error body that the proxy writes. */
function assertUnavailable(received: Received): void {
  assert.equal(received.headers['retry-after'], '1', received.text);
  assertError(received, 'unavailable');
}
