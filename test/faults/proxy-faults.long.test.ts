// What a proxy refuses itself. Each row of the table is sent to each proxy, with its configuration in contrib/, and
// must get the response that its cell names.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, STATUS_CODES, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectWithTls } from 'node:tls';
import { ERRORS, type ErrorCode } from '../../src/domain/errors.ts';
import { assertError } from '../interface/errors.ts';
import { freePort } from '../../harness/free-port.ts';
import { needsProgram } from '../../harness/needs.ts';
import { Proxy, PROXY_PROGRAMS, type ProxyProgram } from '../../harness/proxies.ts';
import {
  sqliteStorage,
  startTestService,
  type Received,
  type TestService,
} from '../../harness/test-service.ts';

const CLOSE_MS_MAX = 20_000;
const LOG_MS_MAX = 10_000;
/** Instead of those in the configuration, for the faults that only a timeout ends. */
const SHORT_TIMEOUT = '1s';

interface Fault {
  bytes: string;
  /** What is behind the proxy, if it is not the service. */
  behind?: 'stub' | 'nothing';
  isPlain?: boolean;
}

const REX = '{"name":"Rex","categoryId":7}';
const common = 'Authorization: Bearer {KEY}\r\nConnection: close\r\n';
const named = `Host: 127.0.0.1\r\n${common}`;
const list = `GET /v1/pets HTTP/1.1\r\n${named}`;
const create = `POST /v1/pets HTTP/1.1\r\n${named}`;

const FAULTS: Record<string, Fault> = {
  'The bytes are not HTTP': { bytes: 'hello\r\n\r\n' },
  'No Host': { bytes: `GET /v1/pets HTTP/1.1\r\n${common}\r\n` },
  'An invalid Host': { bytes: `GET /v1/pets HTTP/1.1\r\nHost: a/b\r\n${common}\r\n` },
  'Another Host': { bytes: `GET /v1/pets HTTP/1.1\r\nHost: other.example\r\n${common}\r\n` },
  'A target of 9,000 characters': {
    bytes: `GET /${'a'.repeat(9_000)} HTTP/1.1\r\n${named}\r\n`,
  },
  'A header of 20,000 bytes': { bytes: `${list}X: ${'a'.repeat(20_000)}\r\n\r\n` },
  '220 headers': { bytes: `${list}${'X: a\r\n'.repeat(220)}\r\n` },
  'A head that does not arrive': { bytes: list, behind: 'stub' },
  'A body that does not arrive': {
    bytes: `${create}Content-Length: 30\r\n\r\n{"name"`,
    behind: 'stub',
  },
  'A body of 2 MiB': {
    bytes: `${create}Content-Length: 2097152\r\n\r\n${'x'.repeat(2_097_152)}`,
  },
  CONNECT: {
    bytes: `CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1:443\r\n${common}\r\n`,
  },
  TRACE: { bytes: `TRACE /v1/pets HTTP/1.1\r\n${named}\r\n` },
  'An unknown version of HTTP': { bytes: `GET /v1/pets HTTP/3.0\r\n${named}\r\n` },
  'An unknown transfer coding': {
    bytes: `${create}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  },
  'An unknown Expect': { bytes: `${create}Expect: cats\r\nContent-Length: 29\r\n\r\n${REX}` },
  'Plain HTTP on the port for TLS': { bytes: `${list}\r\n`, isPlain: true },
  'The service does not run': { bytes: `${list}\r\n`, behind: 'nothing' },
  'The service does not respond': { bytes: `${list}\r\n`, behind: 'stub' },
};

/**
 * What a client gets. Where a cell has no code, an Error body is not possible: (1) the HTTP library of Go responds before
 * any directive of Caddy applies. (2) HAProxy refuses these bytes before they are a request, with a fixed page. (3) The
 * connection is closed without a response; nginx logs 408. (4) HAProxy speaks only TLS on this port. (5) HAProxy sends
 * the request on as HTTP/1.1. (6) nginx removes `Expect`, which HTTP permits. (7) The service accepts every valid Host.
 */
const TABLE = `
| Fault | nginx | Caddy | HAProxy |
| The bytes are not HTTP | malformed_request | 400 in text (1) | 400 in HTML (2) |
| No Host | malformed_request | 400 in text (1) | malformed_request |
| An invalid Host | malformed_request | 400 in text (1) | malformed_request |
| Another Host | served (7) | malformed_request | served (7) |
| A target of 9,000 characters | uri_too_long | uri_too_long | uri_too_long |
| A header of 20,000 bytes | headers_too_large | headers_too_large | headers_too_large |
| 220 headers | headers_too_large | headers_too_large | headers_too_large |
| A head that does not arrive | closed (3) | closed (3) | 408 in HTML (2) |
| A body that does not arrive | request_timeout | request_timeout | request_timeout |
| A body of 2 MiB | body_too_large | body_too_large | body_too_large |
| CONNECT | malformed_request | not_implemented | not_implemented |
| TRACE | not_implemented | method_not_allowed | method_not_allowed |
| An unknown version of HTTP | http_version_not_supported | 505 in text (1) | served (5) |
| An unknown transfer coding | not_implemented | 501 in text (1) | 422 in HTML (2) |
| An unknown Expect | served (6) | 417 without a body (1) | expectation_failed |
| Plain HTTP on the port for TLS | malformed_request | 400 in text (1) | closed (4) |
| The service does not run | unavailable | unavailable | unavailable |
| The service does not respond | unavailable | unavailable | unavailable |
`;
const rows = [...TABLE.matchAll(/^\| (.+) \| (.+) \| (.+) \| (.+) \|$/gm)]
  .slice(1)
  .map(([, name = '', ...cells]) => ({ name, cells }));

test('the table of faults has each fault that is tested', () => {
  assert.deepEqual(
    rows.map(({ name }) => name),
    Object.keys(FAULTS),
  );
});

for (const [index, kind] of PROXY_PROGRAMS.entries()) {
  const skip = needsProgram(kind.program);
  describe(kind.name, { skip, concurrency: true }, () => faultSuite(kind, index));
}

function faultSuite(kind: ProxyProgram, column: number): void {
  let service: TestService;
  let stub: Server;
  let proxies: Record<'service' | 'stub' | 'nothing', Proxy>;

  before(async () => {
    service = await startTestService(sqliteStorage);
    stub = await startStub();
    const stubPort = (stub.address() as AddressInfo).port;
    proxies = {
      service: await Proxy.configure(kind, [Number(new URL(service.baseUrl).port)]),
      stub: await Proxy.configure(kind, [stubPort], { timeout: SHORT_TIMEOUT }),
      nothing: await Proxy.configure(kind, [await freePort()]),
    };
    for (const proxy of Object.values(proxies)) await proxy.start();
  });
  after(async () => {
    for (const proxy of Object.values(proxies)) await proxy.close();
    stub.closeAllConnections();
    stub.close();
    await service.close();
  });

  for (const { name, cells } of rows) {
    const cell = cells[column] ?? '';
    const { bytes, behind = 'service', isPlain = false } = FAULTS[name] ?? { bytes: '' };
    test(`${name}: ${cell}`, async () => {
      const proxy = proxies[behind];
      const text = await exchange(proxy, bytes.replace('{KEY}', service.key), isPlain);
      await assertCell(cell, text, proxy);
    });
  }

  test('the id of a client is in the responses of the service and of the proxy, and in the log of the proxy', async () => {
    for (const behind of ['service', 'nothing'] as const) {
      const id = `from-a-client-${behind}`;
      const bytes = `${list}X-Request-Id: ${id}\r\n\r\n`.replace('{KEY}', service.key);
      const received = parse(await exchange(proxies[behind], bytes, false));
      assert.equal(received.headers['x-request-id'], id);
      await assertLogged(proxies[behind], received);
    }
  });

  test('an id that is not well-formed is replaced by one that is in the log of the proxy', async () => {
    const bytes = `${list}X-Request-Id: not well-formed\r\n\r\n`.replace('{KEY}', service.key);
    const received = parse(await exchange(proxies.service, bytes, false));
    assert.equal(received.status, 200);
    assert.match(String(received.headers['x-request-id']), /^[\w.-]{20,}$/);
    await assertLogged(proxies.service, received);
  });
}

async function assertCell(cell: string, text: string, proxy: Proxy): Promise<void> {
  if (cell.startsWith('closed')) return assert.equal(text, '');
  const received = parse(text);
  const [, code] = /^(\w+)/.exec(cell) ?? [];
  if (code !== undefined && Object.hasOwn(ERRORS, code)) {
    assertError(received, code as ErrorCode);
    assert.equal(received.headers['retry-after'], code === 'unavailable' ? '1' : undefined);
    return assertLogged(proxy, received);
  }
  if (cell.startsWith('served')) return assert.ok(received.status < 300, text);
  // The rest of the cell says why there is no Error body.
  assert.equal(String(received.status), cell.slice(0, 3), text);
}

async function assertLogged(proxy: Proxy, { headers }: Received): Promise<void> {
  const id = String(headers['x-request-id']);
  const deadline = Date.now() + LOG_MS_MAX;
  while (!proxy.log.includes(`"${id}"`)) {
    assert.ok(Date.now() < deadline, `the log has no ${id}: ${proxy.log.slice(-2_000)}`);
    await sleep(20);
  }
}

/** It is ready, responds to no list, and refuses a create before its body has arrived, as the service does after a while. */
async function startStub(): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url === '/readyz') response.end('{}');
    if (request.method !== 'POST') return;
    const body = '{"code":"request_timeout","message":"It did not arrive in time.","status":408}';
    response.writeHead(408, {
      'Content-Type': 'application/json',
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
      'X-Request-Id': String(request.headers['x-request-id']),
      Connection: 'close',
    });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Sends bytes, and returns what was received until the proxy closed the connection. */
function exchange(proxy: Proxy, bytes: string, isPlain: boolean): Promise<string> {
  const address = { host: '127.0.0.1', port: proxy.port };
  return new Promise((resolve, reject) => {
    const socket = isPlain
      ? connect(address)
      : connectWithTls({ ...address, ca: proxy.certificate, ALPNProtocols: ['http/1.1'] });
    let received = '';
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection stays open after: ${received}`));
    }, CLOSE_MS_MAX);
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    // A reset after the response counts as a close.
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
    socket.write(bytes);
  });
}

function parse(text: string): Received {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  assert.ok(STATUS_CODES[status] !== undefined, `not a response: ${text.slice(0, 200)}`);
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [name = '', ...rest] = line.split(':');
    headers[name.toLowerCase()] = rest.join(':').trim();
  }
  const body = text.slice(end + 4);
  return { status, headers, text: body, json: () => JSON.parse(body) as unknown };
}
