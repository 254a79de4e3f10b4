// The effects of settings: rate limits, CORS origins, the base URL, the admin port.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { hostname } from 'node:os';
import { test, type TestContext } from 'node:test';
import { openAdmin } from '../../src/admin.ts';
import { welcome } from '../../src/cli/welcome.ts';
import { loadConfig } from '../../src/config.ts';
import { newSecret } from '../../src/domain/api-key.ts';
import { Refusal } from '../../src/domain/errors.ts';
import { openLog } from '../../src/ops/log.ts';
import { startService, type Service } from '../../src/service.ts';
import type { Variables } from '../../src/setting.ts';
import { assertError } from '../interface/errors.ts';
import { freePort } from '../../harness/free-port.ts';
import { exchange, parseResponses } from '../../harness/raw-socket.ts';
import {
  linksOf,
  send,
  sqliteStorage,
  startTestService,
  type TestService,
} from '../../harness/test-service.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

async function startWith(t: TestContext, ...flags: string[]): Promise<TestService> {
  const service = await startTestService(sqliteStorage, { flags });
  t.after(() => service.close());
  return service;
}

const RUNTIME = {
  clock: { now: () => new Date(), elapsedMs: () => performance.now() },
  randomBytes,
  newRequestId: randomUUID,
  isWorker: false,
};

async function startWithAdmin(
  t: TestContext,
  flags: Record<string, string> = {},
  logLines: string[] = [],
  variables: Variables = {},
): Promise<Service> {
  const fixed = { port: '0', 'admin-port': '0', data: temporaryFolder(t) };
  const config = loadConfig({ ...fixed, ...flags }, variables);
  const log = openLog('info', { write: (line) => logLines.push(line) });
  const accessLog = config.hasAccessLog ? log : undefined;
  const service = await startService(config, { ...RUNTIME, log, accessLog });
  t.after(() => service.close());
  return service;
}

test('without a base URL, Link, Location and the server of the document are paths, whatever the Host', async (t) => {
  const { baseUrl, key } = await startWith(t, '--host', '0.0.0.0');
  const headers = { authorization: `Bearer ${key}`, host: 'stranger.example' };
  for (const id of [1, 2]) {
    const body = '{"name":"Rex","categoryId":1}';
    const created = await send(`${baseUrl}/pets`, { method: 'POST', headers, body });
    assert.equal(created.headers.location, `/v1/pets/${id}`);
  }
  const first = await send(`${baseUrl}/pets?limit=1`, { headers });
  const next = linksOf(first)['next'] ?? '';
  assert.match(next, /^\/v1\/pets\?limit=1&cursor=\w+$/);
  const second = await send(new URL(next, baseUrl).href, { headers });
  assert.match(second.text, /^\[\{"id":2,/);
  const document = (await send(new URL('/openapi.json', baseUrl).href, { headers })).json();
  assert.partialDeepStrictEqual(document, { servers: [{ url: '/v1' }] });
});

test('with an access log the first key is only that of PETSTORE_BOOTSTRAP_KEY, and refused bytes have a line', async (t) => {
  const logLines: string[] = [];
  const flags = { 'access-log': '-' };
  const service = await startWithAdmin(t, flags, logLines);
  assert.equal(service.firstKey, undefined);
  await exchange(Number(new URL(service.baseUrl).port), ['NOT HTTP\r\n\r\n']);
  const { requestId, ...line } = JSON.parse(logLines.join('')) as Record<string, unknown>;
  assert.equal(typeof requestId, 'string');
  assert.deepEqual(
    [line['msg'], line['status'], line['code'], line['address']],
    ['access', 400, 'malformed_request', '127.0.0.1'],
  );
  const key = newSecret('production', randomBytes);
  const withKey = await startWithAdmin(t, flags, [], { PETSTORE_BOOTSTRAP_KEY: key });
  assert.equal(withKey.firstKey, key);
  const headers = { authorization: `Bearer ${key}` };
  assert.equal((await send(`${withKey.baseUrl}/pets`, { headers })).status, 200);
});

test('a service that is being closed accepts no connection and is not ready, also while a request is in flight', async (t) => {
  const service = await startWithAdmin(t);
  const { port } = new URL(service.baseUrl);
  const socket = connect(Number(port), '127.0.0.1');
  t.after(() => socket.destroy());
  const authorization = `Authorization: Bearer ${service.firstKey}`;
  socket.write(
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Length: 29\r\n\r\n{`,
  );
  // After a response on another connection, the service has read the head.
  const livez = new URL('/livez', service.baseUrl).href;
  assert.equal((await send(livez)).status, 200);
  await service.stopListening();
  await assert.rejects(send(livez), { code: 'ECONNREFUSED' });
  assert.equal((await send(`${service.adminUrl}/readyz`)).status, 200);
  const closed = service.close();
  assert.equal((await send(`${service.adminUrl}/readyz`)).status, 503);
  socket.write('"name":"Rex","categoryId":1}');
  await closed;
  await assert.rejects(send(`${service.adminUrl}/livez`), { code: 'ECONNREFUSED' });
});

test('a response that cannot be sent counts as an internal error', async (t) => {
  const port = await freePort();
  const fixed = { port: String(port), 'admin-port': '0', data: temporaryFolder(t) };
  const log = openLog('silent', { write: () => undefined });
  // No setting can be so: a URL has no such character.
  const config = { ...loadConfig(fixed, {}), baseUrl: 'http://pets.example\u{1F431}/v1' };
  const service = await startService(config, { ...RUNTIME, log });
  t.after(() => service.close());
  const headers = { authorization: `Bearer ${service.firstKey}` };
  assert.equal((await send(`http://127.0.0.1:${port}/v1/pets`, { headers })).status, 500);
  const { text } = await send(`${service.adminUrl}/metrics`);
  assert.match(text, /^petstore_errors_total\{code="internal_error"\} 1$/m);
});

test('the admin port serves health and the counts of requests and creates', async (t) => {
  const service = await startWithAdmin(t);
  const headers = { authorization: `Bearer ${service.firstKey}` };
  const body = '{"name":"Rex","categoryId":1}';
  const twice = { method: 'POST', headers: { ...headers, 'idempotency-key': 'a' }, body };
  await send(`${service.baseUrl}/pets`, twice);
  await send(`${service.baseUrl}/pets`, twice);
  await send(`${service.baseUrl}/pets/1`, { headers });
  await send(`${service.baseUrl}/pets`);

  assert.equal((await send(`${service.adminUrl}/livez`)).status, 200);
  assert.equal((await send(`${service.adminUrl}/readyz`)).status, 200);
  const scrape = await send(`${service.adminUrl}/metrics`);
  const { text } = scrape;
  assert.equal(scrape.headers['x-content-type-options'], 'nosniff');
  assert.match(String(scrape.headers['content-type']), /^text\/plain; version=/);
  assert.match(String(scrape.headers['x-request-id']), /^[\w-]{36}$/);
  assert.match(text, /^petstore_pets_created_total 1$/m, 'a replayed create does not count');
  assert.match(
    text,
    /^petstore_request_duration_seconds_count\{operation="createPet",status="201"\} 2$/m,
  );
  assert.match(
    text,
    /^petstore_request_duration_seconds_count\{operation="listPets",status="401"\} 1$/m,
  );
  assert.match(
    text,
    /^petstore_request_duration_seconds_bucket\{operation="getPet",status="200",le="\+Inf"\} 1$/m,
  );
  assert.match(text, /^petstore_requests_in_flight 0$/m);
  assert.match(text, /^nodejs_eventloop_lag_p99_seconds /m);
  assert.doesNotMatch(text, /^(?:nodejs_active_\w+_total|process_virtual_memory_bytes)\b/m);
  const where = /^The path does not exist\. This is the admin port; the interface is on the port/;
  assertError(await send(`${service.adminUrl}/v1/pets`), 'route_not_found', where);
});

test('if the default admin port is in use, the service starts without metrics and says so', async (t) => {
  const config = loadConfig({ env: 'staging', port: '0', data: temporaryFolder(t) }, {});
  const other = createServer();
  t.after(() => other.close());
  await new Promise((resolve) => {
    // If another program already uses the port, the service sees the same.
    other.once('error', resolve).listen(config.adminPort, '127.0.0.1', () => resolve(undefined));
  });
  const log = openLog('silent', process.stderr);
  const service = await startService(config, { ...RUNTIME, log });
  t.after(() => service.close());
  assert.equal(service.adminUrl, undefined);
  const headers = { authorization: `Bearer ${service.firstKey}` };
  assert.equal((await send(`${service.baseUrl}/pets`, { headers })).status, 200);
  assert.match(
    welcome(config, service),
    /^ +Metrics +off: port 9474 is already in use; --admin-port \(PETSTORE_ADMIN_PORT\) names another$/m,
  );
});

test('/metrics has every operation and status from the start, with the value 0', async (t) => {
  const service = await startWithAdmin(t);
  const { text } = await send(`${service.adminUrl}/metrics`);
  for (const [operation, status] of [
    ['listPets', 200],
    ['listPets', 500],
    ['createPet', 201],
    ['createPet', 413],
    ['createPet', 503],
    ['getPet', 404],
    ['getPet', 401],
    ['other', 404],
    ['other', 500],
  ]) {
    const name = `petstore_request_duration_seconds_count{operation="${operation}",status="${status}"}`;
    assert.ok(text.includes(`\n${name} 0\n`), name);
  }
});

test('the admin port refuses a Host that is not a loopback name, against DNS rebinding', async (t) => {
  const service = await startWithAdmin(t);
  const get = (host: string, path: string) =>
    send(`${service.adminUrl}${path}`, { headers: { host } });
  for (const host of [
    'evil.example',
    'evil.example:9464',
    '127.999.1.1',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    'evil-localhost',
  ]) {
    assertError(await get(host, '/metrics'), 'malformed_request');
    assertError(await get(host, '/livez'), 'malformed_request');
  }
  for (const host of ['127.0.0.1', '127.8.9.100:80', 'localhost:9464', 'LocalHost', '[::1]:9464']) {
    assert.equal((await get(host, '/metrics')).status, 200, host);
  }
  const { port } = new URL(service.adminUrl ?? '');
  const [nameless] = parseResponses(await exchange(Number(port), ['GET /livez HTTP/1.0\r\n\r\n']));
  assert.equal(nameless?.status, 200, 'a web page cannot send a request without a Host');
});

test('a page of the admin port that fails is 500, and the log has the cause', async (t) => {
  const logLines: string[] = [];
  const log = openLog('info', { write: (line) => logLines.push(line) });
  const config = loadConfig({ 'admin-port': '0' }, {});
  const admin = await openAdmin(
    config,
    { ...RUNTIME, log },
    {
      figures: () => [],
      scrapedFigures() {
        throw new Error('no figures');
      },
      isReady: () => Promise.reject(new Refusal('unavailable', 'No store.')),
      storeName: 'none',
    },
  );
  t.after(() => admin?.close());
  assertError(await send(`${admin?.url}/metrics`), 'internal_error');
  assert.equal(logLines.length, 1);
  assert.match(logLines.join(''), /no figures.*"the admin page failed"/);
  assertError(await send(`${admin?.url}/readyz`), 'unavailable', /No store/);
  assert.equal(logLines.length, 1);
});

test('with --admin-host other machines can read the metrics: by address, by that name, and by no other', async (t) => {
  const logLines: string[] = [];
  const service = await startWithAdmin(t, { 'admin-host': '0.0.0.0' }, logLines);
  assert.match(service.adminUrl ?? '', /^http:\/\/127\.0\.0\.1:\d+$/);
  const get = (host: string) => send(`${service.adminUrl}/metrics`, { headers: { host } });
  for (const host of ['10.0.0.5:9464', '[fd00::5]:9464', 'localhost', '0.0.0.0']) {
    assert.equal((await get(host)).status, 200, host);
  }
  for (const host of ['evil.example', '10.0.0.5.evil.example:9464']) {
    assertError(await get(host), 'malformed_request', /an IP address, localhost or 0\.0\.0\.0/);
  }
  assertError(await get('[evil]'), 'malformed_request', /one valid Host/);
  const warnings = logLines.filter((line) => /can read the metrics/.test(line));
  assert.equal(warnings.length, 1);
  const { port } = new URL(service.adminUrl ?? '');
  assert.match(warnings[0] ?? '', new RegExp(`"adminHost":"0.0.0.0","adminPort":${port},`));
});

test('the name in --admin-host counts as a good Host; a loopback one gets no warning', async (t) => {
  const logLines: string[] = [];
  const service = await startWithAdmin(t, { 'admin-host': 'LOCALHOST' }, logLines);
  const get = (host: string) => send(`${service.adminUrl}/metrics`, { headers: { host } });
  assert.equal((await get('localhost:9464')).status, 200);
  assertError(await get('10.0.0.5'), 'malformed_request');
  assert.deepEqual(logLines, []);
  const named = await startWithAdmin(t, { 'admin-host': hostname() }, logLines);
  const { port } = new URL(named.adminUrl ?? '');
  const headers = { host: `${hostname().toUpperCase()}:${port}` };
  assert.equal((await send(`${named.adminUrl}/metrics`, { headers })).status, 200);
  assert.match(logLines.join(''), /can read the metrics/);
});
