// One test for each fact of node:http and node:net that no document promises. When a new Node.js fails one of them,
// its title says which function of node-http.ts must change.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../harness/until.ts';
import {
  closeListener,
  createNodeServer,
  dropInput,
  dropRestOfReadWhen,
  Exchange,
  listenTo,
  movedBytes,
  onResumed,
  type ClientFault,
  type NodeServer,
  type ReceivedRequest,
} from './node-http.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const HEADERS_MAX = 5;
const EMPTY = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

interface Opened {
  server: NodeServer;
  /** The end of the server, and that of the client, which has sent the bytes. */
  socket: Socket;
  client: Socket;
}

/** A server, and a client that has sent the bytes in one packet. */
async function open(
  t: TestContext,
  bytes: string,
  onRequest: (request: ReceivedRequest, response: ServerResponse) => void = () => undefined,
): Promise<Opened> {
  const server = createNodeServer(HEADERS_MAX, {
    optimizeEmptyRequests: true,
    headersTimeout: 500,
    connectionsCheckingInterval: 100,
  });
  server.on('request', onRequest);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write(bytes);
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.after(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { server, socket, client };
}

async function allTurns(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turn();
}

/** Whether the WebSocket client is there after this statement. */
function isLoaded(statement: string): string {
  const script = `${statement}; console.log(process.moduleLoadList.some((each) => each.includes('undici')))`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', script]).stdout.toString();
}

test('node:http is loaded without its WebSocket client, unlike by an import statement', () => {
  assert.equal(isLoaded("process.getBuiltinModule('node:http')"), 'false\n');
  assert.equal(isLoaded("import 'node:http'"), 'true\n');
});

test('the parser calls push of a request with each chunk, and with null at the end', async (t) => {
  const chunks: (string | undefined)[] = [];
  const coded = 'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n';
  const ended = new Promise<void>((resolve) => {
    void open(t, GET.replace('\r\n\r\n', `\r\n${coded}`), (request) => {
      request.push = (chunk: Buffer | null) => {
        chunks.push(chunk?.toString());
        if (chunk === null) resolve();
        return true;
      };
    });
  });
  await ended;
  assert.deepEqual(chunks, ['a', 'bc', undefined]);
});

test('a request with neither Content-Length nor Transfer-Encoding has no body', async (t) => {
  const seen: unknown[] = [];
  const posts = ['', 'Content-Length: 0\r\n'].map((more) =>
    GET.replace('GET', 'POST').replace('\r\n\r\n', `\r\n${more}\r\n`),
  );
  await open(t, posts.join(''), (request, response) => {
    seen.push([request.readableEnded, new Exchange(request, response).hasBody]);
  });
  await until('two requests', () => seen.length === 2);
  assert.deepEqual(seen, [
    [true, false],
    [false, true],
  ]);
});

test('shouldKeepAlive is what the parser has decided from the version and from Connection', async (t) => {
  const kept: boolean[] = [];
  const closing = GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
  for (const bytes of [GET, closing, GET.replace('1.1', '1.0')]) {
    await open(t, bytes, (request, response) =>
      kept.push(new Exchange(request, response).isKeptAlive),
    );
  }
  await until('three requests', () => kept.length === 3);
  assert.deepEqual(kept, [true, false, false]);
});

test('the bytes behind an offer to upgrade are dropped', async (t) => {
  const targets: unknown[] = [];
  const offer = GET.replace('\r\n\r\n', '\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  await open(t, offer + GET.replace('/', '/behind'), (request, response) =>
    targets.push([request.url, new Exchange(request, response).isKeptAlive]),
  );
  await until('the offer', () => targets.length > 0);
  await allTurns();
  assert.deepEqual(targets, [['/', false]]);
});

test('the event finish of a response frees its request and gives the socket to the next response', async (t) => {
  const responses: ServerResponse[] = [];
  const { socket } = await open(t, GET + GET, (request, response) => {
    responses.push(response);
    if (responses.length > 1) return;
    request.socket.write(EMPTY, () => new Exchange(request, response).end());
  });
  await until('the next response has the socket', () => responses[1]?.socket === socket);
  assert.equal(responses[0]?.socket, null);
});

test('a response that is detached does not close its socket, and those who watch it see its end', async (t) => {
  let closes = 0;
  const { socket, client } = await open(t, GET, (request, response) => {
    response.on('close', () => (closes += 1));
    new Exchange(request, response).endLast();
  });
  await until('the end is seen', () => closes > 0);
  await allTurns();
  assert.deepEqual([closes, socket.destroyed], [1, false]);
  client.destroy();
  await once(socket, 'close');
  assert.equal(closes, 1);
});

test('a client that has closed its sending side still gets its response', async (t) => {
  const { client } = await open(t, GET, (_request, response) => {
    setTimeout(() => response.end('late'), 50);
  });
  client.end();
  const received = Buffer.concat(await Array.fromAsync<Buffer>(client)).toString();
  assert.match(received, /late$/);
});

test('after CONNECT node:http no longer listens for errors, and closes the socket no more', async (t) => {
  const { server, socket } = await open(t, '');
  const tunnels: unknown[] = [];
  listenTo(server, {
    onConnection: () => undefined,
    onExchange: () => undefined,
    onFault: () => undefined,
    onTunnel: (each) => tunnels.push(each),
  });
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  client.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the event connect', () => tunnels.length > 0);
  const [tunnel] = tunnels as [Socket];
  t.after(() => tunnel.destroy());
  assert.equal(tunnel.listenerCount('error'), 1, 'the only one is that of listenTo');
  server.closeAllConnections();
  assert.deepEqual([socket.destroyed, tunnel.destroyed], [true, false]);
});

test('the event of a request tells what its Expect asks for, except in HTTP/1.0', async (t) => {
  const { server } = await open(t, '');
  const seen: string[] = [];
  listenTo(server, {
    onConnection: () => undefined,
    onExchange: ({ httpVersion, expects }) => seen.push(`${httpVersion} ${expects}`),
    onFault: () => undefined,
    onTunnel: () => undefined,
  });
  for (const version of ['1.1', '1.0']) {
    for (const expectation of ['100-Continue', 'cats']) {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      t.after(() => client.destroy());
      const before = seen.length;
      client.write(`GET / HTTP/${version}\r\nHost: x\r\nExpect: ${expectation}\r\n\r\n`);
      await until('the request', () => seen.length > before);
    }
  }
  assert.deepEqual(seen, ['1.1 continue', '1.1 other', '1.0 nothing', '1.0 nothing']);
});

test('a fault has the reason of the parser', async (t) => {
  const { server } = await open(t, '');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  client.write('GET / HTTP/1.1\nHost: x\n\n');
  const [fault] = (await once(server, 'clientError')) as [ClientFault];
  assert.deepEqual(
    [fault.code, fault.reason],
    ['HPE_INVALID_VERSION', 'Expected CRLF after version'],
  );
});

test('the listener can be closed without its idle connections, and then the timeouts of requests still run', async (t) => {
  const { server, socket, client } = await open(t, GET, (_request, response) => response.end());
  await once(client, 'data');
  let isClosed = false;
  closeListener(server, () => (isClosed = true));
  await allTurns();
  assert.deepEqual([socket.destroyed, isClosed, server.listening], [false, false, false]);
  client.write('GET / HT');
  const [fault] = (await once(server, 'clientError')) as [ClientFault];
  assert.equal(fault.code, 'ERR_HTTP_REQUEST_TIMEOUT');
  socket.destroy();
  await until('the server is closed', () => isClosed);
});

test('node:http resumes a paused socket after a request that it has parsed', async (t) => {
  let resumed = 0;
  await open(t, GET + GET, ({ socket }) => {
    if (socket.listenerCount('resume') < 2) onResumed(socket, () => (resumed += 1));
    socket.pause();
  });
  await until('the event resume', () => resumed > 0);
});

test('node:http parses the rest of a read although its socket was destroyed', async (t) => {
  let requests = 0;
  await open(t, GET + GET, (request) => {
    requests += 1;
    request.socket.destroy();
  });
  await until('the second request', () => requests === 2);
});

test('the rest of a read is dropped after a head for which the caller says so', async (t) => {
  const targets: string[] = [];
  const { server } = await open(t, '', (request) => targets.push(String(request.url)));
  server.on('connection', (socket: Socket) =>
    dropRestOfReadWhen(socket, () => targets.length >= 2),
  );
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  client.write(
    GET.replace('/', '/1') + GET.replace('/', '/2') + GET.replace('/', '/3').repeat(100),
  );
  await until('two requests', () => targets.length === 2);
  await allTurns();
  assert.deepEqual(targets, ['/1', '/2']);
});

const withHeaders = (count: number) =>
  GET.replace('\r\n\r\n', `\r\n${'X: y\r\n'.repeat(count - 1)}\r\n`);

test('a head with more headers than the limit is refused, not shortened', async (t) => {
  const counts: number[] = [];
  const { server } = await open(t, withHeaders(HEADERS_MAX), ({ rawHeaders }) =>
    counts.push(rawHeaders.length / 2),
  );
  await until('the first request', () => counts.length === 1);
  for (const count of [HEADERS_MAX + 1, 50, 500]) {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    t.after(() => client.destroy());
    client.write(withHeaders(count));
    const [fault] = (await once(server, 'clientError')) as [ClientFault];
    assert.equal(fault.code, 'HPE_HEADER_OVERFLOW');
  }
  assert.deepEqual(counts, [HEADERS_MAX]);
});

for (const isDropped of [false, true]) {
  const what = isDropped ? 'is read to the end if its input is dropped' : 'is paused at a request';
  test(`a socket that has unsent bytes ${what}`, async (t) => {
    const { socket, client } = await open(t, GET, ({ socket: own }) => {
      own.end(Buffer.alloc(32 * 1024 * 1024));
      if (isDropped) dropInput(own);
    });
    await until('the response waits', () => socket.writableLength > 0);
    const more = GET.repeat(200_000);
    client.write(more);
    const allBytes = GET.length + more.length;
    const isEnough = () => socket.bytesRead === allBytes || (!isDropped && socket.isPaused());
    await until('all is read, or nothing more', isEnough);
    assert.equal(socket.bytesRead === allBytes, isDropped);
  });
}

test('a socket tells how many bytes have moved, without those that wait for the client', async (t) => {
  const { socket, client } = await open(t, 'GET');
  client.pause();
  await until('three bytes have arrived', () => movedBytes(socket) === 3);
  const bytes = 32 * 1024 * 1024;
  socket.write(Buffer.alloc(bytes));
  let stalled = -1;
  const hasStalled = async () => {
    const before = movedBytes(socket);
    await sleep(50);
    stalled = movedBytes(socket);
    return stalled === before;
  };
  await until('no byte moves', hasStalled);
  assert.ok(socket.bytesWritten === bytes && stalled < bytes, `${stalled} bytes have moved`);
  client.resume();
  await until('all bytes have moved', () => movedBytes(socket) === bytes + 3);
});
