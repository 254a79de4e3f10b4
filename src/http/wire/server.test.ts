import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Server, STATUS_CODES, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { describe, test, type TestContext } from 'node:test';
import { exchange, parseResponses } from '../../../harness/raw-socket.ts';
import { until } from '../../../harness/until.ts';
import type { Handler, HttpResponse } from '../message.ts';
import { encodeResponse } from './encode.ts';
import { createNodeServer } from './node-http.ts';
import { CLIENT_TIMEOUTS, HttpServer, openServer, type ServerParts } from './server.ts';

const QUIET_MS_MAX = 2_500;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const MIB = 1024 * 1024;

/** A server whose every response is this one, or what the handler makes. */
async function serve(
  context: TestContext,
  response: Partial<HttpResponse> | Handler['handle'] = {},
  parts: Partial<ServerParts> = {},
): Promise<HttpServer> {
  const handle =
    typeof response === 'function'
      ? response
      : async () => ({ status: 200, headers: [], body: 'hello', ...response });
  const server = await openServer({
    createHandler: () => ({ handle }),
    host: '127.0.0.1',
    port: 0,
    newRequestId: () => 'new',
    quietMsMax: QUIET_MS_MAX,
    ...parts,
  });
  context.after(() => server.close(0));
  return server;
}

/** It would wait for longer than a test for a client that stays. */
const PATIENT = { quietMsMax: 600_000 };
const LARGE = { body: 'x'.repeat(16 * MIB) };

function connectTo(context: TestContext, server: HttpServer, allowHalfOpen = false): Socket {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen });
  context.after(() => socket.destroy());
  return socket;
}

async function openConnection(
  context: TestContext,
  response: Partial<HttpResponse> = {},
): Promise<Socket> {
  const socket = connectTo(context, await serve(context, response));
  // A request to a connection that the server has closed may reset it.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function connectionsOf(server: HttpServer): number | undefined {
  return server.figures().find(({ name }) => name === 'petstore_connections')?.values[0]?.value;
}

/** The response, or undefined if the server has closed the connection. */
async function ask(socket: Socket): Promise<string | undefined> {
  if (socket.closed) return undefined;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const onData = (chunk: Buffer) => resolve(chunk.toString());
  const onClose = () => resolve(undefined);
  socket.on('data', onData).on('close', onClose).write(REQUEST);
  const response = await promise;
  socket.off('data', onData).off('close', onClose);
  return response;
}

/** Uses a connection for twice the time after which an idle one is closed. False if this machine is too busy to. */
async function isKeptInUse(socket: Socket): Promise<boolean> {
  let lastAskedMs = performance.now();
  const untilMs = lastAskedMs + 2 * QUIET_MS_MAX;
  while (lastAskedMs < untilMs) {
    const askedMs = performance.now();
    const response = await ask(socket);
    if (response === undefined) {
      const quietMs = performance.now() - lastAskedMs;
      assert.ok(quietMs >= QUIET_MS_MAX, `closed after ${quietMs} ms`);
      return false;
    }
    assert.match(response, /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Connection: keep-alive\r\n/);
    lastAskedMs = askedMs;
    await sleep(QUIET_MS_MAX / 4);
  }
  return true;
}

test('a request that arrived while the process was busy is served, also if the server closes', async (context) => {
  const server = await serve(context, {}, { timeouts: { ...CLIENT_TIMEOUTS, sweepMs: 1_000 } });
  const socket = connectTo(context, server);
  // A request to a connection that the server has closed may reset it.
  socket.on('error', () => undefined);
  await ask(socket);
  const closed = server.close(600_000);
  await sleep(100);
  // Timers come next, and the sweep is due when the process is idle again.
  await turn();
  const response = ask(socket);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
  assert.match(String(await response), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Connection: close\r\n/);
  await closed;
});

// They run at the same time, because each of them mostly waits.
describe('A connection without a byte for too long', { concurrency: true }, () => {
  test('a connection in use is kept, and one that is idle for too long is closed', async (context) => {
    let socket = await openConnection(context);
    while (!(await isKeptInUse(socket))) socket = await openConnection(context);
    await once(socket, 'close');
  });

  for (const [what, request] of [
    ['of a connection that stays', REQUEST],
    ['of a connection that closes', REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')],
  ] as const) {
    test(
      `a response ${what} and that the client reads slowly is sent to its end when the server closes, which then waits no longer`,
      { timeout: 30_000 },
      async (context) => {
        const server = await serve(context, LARGE, PATIENT);
        const socket = connectTo(context, server);
        socket.write(request);
        await once(socket, 'readable');
        const closed = server.close(600_000);
        // By then idle connections are closed.
        await sleep(1_500);
        let received = 0;
        socket.on('data', (chunk: Buffer) => (received += chunk.length));
        await Promise.all([once(socket, 'end'), closed]);
        assert.ok(received > 16 * MIB, `${received} bytes`);
      },
    );
  }

  test(
    'an idle connection does not delay the close of the server',
    { timeout: 30_000 },
    async (context) => {
      const server = await serve(context, {}, PATIENT);
      await ask(connectTo(context, server));
      await server.close(600_000);
    },
  );

  test('a client that stops reading its response is disconnected', async (context) => {
    const socket = await openConnection(context, LARGE);
    socket.write(REQUEST);
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    // Far longer than allowed; whatever the system had taken into its buffers by then is still delivered.
    await sleep(3 * QUIET_MS_MAX);
    let received = first.length;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await once(socket, 'close');
    assert.ok(received < 16 * MIB, `${received} bytes were delivered`);
  });

  test('a client that stops reading is disconnected once no byte has moved for that long, not later', async (context) => {
    const quietMsMax = 6_000;
    const server = await serve(context, LARGE, { quietMsMax });
    const socket = connectTo(context, server);
    socket.write(REQUEST);
    await once(socket, 'data');
    socket.pause();
    const pausedMs = performance.now();
    await until('the server has closed it', () => connectionsOf(server) === 0);
    const closedAfterMs = performance.now() - pausedMs;
    assert.ok(closedAfterMs < 2 * quietMsMax, `closed after ${closedAfterMs} ms`);
    assert.ok(closedAfterMs > quietMsMax - 1_000, `closed after ${closedAfterMs} ms`);
  });

  test('a client that sends CONNECT behind a request and reads nothing is disconnected', async (context) => {
    const server = await serve(context, LARGE);
    const socket = connectTo(context, server);
    socket.pause();
    socket.write(`${REQUEST}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until('it is connected', () => connectionsOf(server) === 1);
    await until('the server has closed it', () => connectionsOf(server) === 0);
  });

  test('a client that reads slowly but steadily gets its whole response', async (context) => {
    const size = LARGE.body.length;
    const socket = await openConnection(context, LARGE);
    socket.write(REQUEST);
    let received = 0;
    const whole = new Promise<void>((resolve, reject) => {
      socket.on('close', () => reject(new Error(`closed after ${received} bytes`)));
      socket.on('data', (chunk) => {
        received += chunk.length;
        if (received >= size) resolve();
        // One MiB at a time, with a pause that is short beside the time without any byte that is allowed.
        if (received % MIB >= chunk.length) return;
        socket.pause();
        setTimeout(() => socket.resume(), QUIET_MS_MAX / 5);
      });
    });
    const startedMs = performance.now();
    await whole;
    assert.ok(performance.now() - startedMs > 2 * QUIET_MS_MAX, 'it must take longer than allowed');
  });
});

test('a request is not refused for the malformed body of the request behind it', async (context) => {
  const server = await serve(context, async (request) => {
    // As when the key must be looked up first: the request behind it is parsed meanwhile.
    await sleep(50);
    const body = await request.readBody().catch((error: unknown) => error);
    return { status: 200, headers: [], body: String(body) };
  });
  const first = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst';
  const second = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n';
  const received = await exchange(server.port, [first + second]);
  assert.deepEqual(
    parseResponses(received).map(({ body }) => body),
    ['first', 'Refusal: The request is not well-formed HTTP.'],
  );
});

test('a client that is connected before the server is closed gets its response', async (context) => {
  const server = await serve(context);
  const responses = Array.from({ length: 50 }, () => exchange(server.port, [REQUEST]));
  // Now the system has accepted the connections, and the server has not.
  await new Promise((resolve) => process.nextTick(resolve));
  await server.close(5_000);
  for (const response of await Promise.all(responses)) {
    assert.match(response, /^HTTP\/1\.1 200 OK\r\n/);
  }
});

test('requests that are pipelined when the server closes get their responses, and the last says that it is the last', async (context) => {
  const begun = Promise.withResolvers<void>();
  const continued = Promise.withResolvers<void>();
  const server = await serve(context, async () => {
    begun.resolve();
    await continued.promise;
    return { status: 200, headers: [], body: '' };
  });
  const received = exchange(server.port, [REQUEST + REQUEST]);
  await begun.promise;
  await server.stopListening();
  let isClosed = false;
  const closed = server.close(60_000).then(() => (isClosed = true));
  for (let turns = 0; turns < 10; turns += 1) await turn();
  assert.equal(isClosed, false, 'it waits for the requests');
  continued.resolve();
  const connections = parseResponses(await received).map(
    ({ head }) => /^connection: (.*)$/im.exec(head)?.[1],
  );
  assert.deepEqual(connections, ['keep-alive', 'close']);
  await closed;
});

const FRAMED: [what: string, method: string, response: Partial<HttpResponse>, sent: string][] = [
  ['a text', 'GET', { headers: ['A', 'b'] }, 'A: b|Content-Length: 5|D||hello'],
  ['other letters', 'GET', { status: 404, body: 'é€' }, 'Content-Length: 5|D||é€'],
  ['an empty body', 'GET', { status: 308, body: '' }, 'Content-Length: 0|D||'],
  ['a 204', 'OPTIONS', { status: 204, headers: ['Allow', 'GET'], body: '' }, 'Allow: GET|D||'],
  ['a 304', 'GET', { status: 304, headers: ['ETag', '"x"'], body: '' }, 'ETag: "x"|D||'],
  ['a response to HEAD', 'HEAD', {}, 'Content-Length: 5|D||'],
];

for (const [what, method, response, sent] of FRAMED) {
  test(`${what} is sent with its length and the date, on a connection that stays and on one that closes`, async (context) => {
    const socket = connectTo(context, await serve(context, response));
    const request = REQUEST.replace('GET', method);
    const last = request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
    socket.write(request + last);
    const received = Buffer.concat(await Array.fromAsync<Buffer>(socket)).toString();
    const { status = 200 } = response;
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}|`;
    const expected = ['keep-alive', 'close'].map(
      (connection) =>
        head +
        sent.replace('D|', `X-Content-Type-Options: nosniff|Date: now|Connection: ${connection}|`),
    );
    const shown = received.replace(/Date: .*/g, 'Date: now').replaceAll('\r\n', '|');
    assert.equal(shown, expected.join(''));
  });
}

test('the Date of a response is that of its second', (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030, 11, 4, 23, 59, 58, 999) });
  const response: HttpResponse = { status: 204, headers: [], body: '' };
  const dateOf = () => /Date: (.*)\r/.exec(encodeResponse(response, { isLast: true })[0])?.[1];
  assert.equal(dateOf(), 'Wed, 04 Dec 2030 23:59:58 GMT');
  context.mock.timers.setTime(Date.UTC(2030, 11, 4, 23, 59, 59));
  assert.equal(dateOf(), 'Wed, 04 Dec 2030 23:59:59 GMT');
});

for (const [what, header] of [
  ['ends its line', ['Location', '/a\r\nSet-Cookie: b=c']],
  ['has a line feed', ['Location', '/a\nb']],
  ['has a character outside ASCII', ['Location', '/\u{1F431}']],
  ['has a name that is no token', ['Loca tion', '/a']],
] as const) {
  test(`a response with a header that ${what} is not sent, but the 500 Error, and the cause is reported`, async (context) => {
    const reported: string[] = [];
    const statuses: number[] = [];
    watchResponses(context, (response) => {
      response.on('finish', () => statuses.push(response.statusCode));
    });
    const invalid = { requestId: 'own', headers: [...header] };
    const server = await serve(context, invalid, {
      onInvalidResponse: (error, requestId) => reported.push(`${requestId}: ${String(error)}`),
    });
    const received = await exchange(server.port, [REQUEST + REQUEST], { responsesMax: 2 });
    assert.deepEqual(statuses, [500, 500]);
    for (const { status, head, body } of parseResponses(received)) {
      assert.equal(status, 500);
      assert.match(head, /^X-Request-Id: own$/m);
      assert.match(body, /^\{"code":"internal_error","message":"The service failed; its log has/);
    }
    assert.equal(received.includes('Set-Cookie'), false);
    const cause = `own: TypeError: invalid response header ${JSON.stringify(header.join(': '))}`;
    assert.deepEqual(reported, [cause, cause]);
  });
}

const encodeHeaders = (headers: readonly string[]) =>
  encodeResponse({ status: 204, headers, body: '' }, { isLast: true })[0];

test('the headers of a cached response are checked too, and are sent the same each time', () => {
  const invalid = Object.freeze(['Link', 'a\r\nb']);
  const valid = Object.freeze(['Link', 'a', 'ETag', '"b"']);
  for (const time of ['first', 'second']) {
    assert.throws(() => encodeHeaders(invalid), TypeError, time);
    assert.match(encodeHeaders(valid), /^HTTP\/1\.1 204 .*\r\nLink: a\r\nETag: "b"\r\n/, time);
  }
});

test('an invalid response without a request id gets a new one', async (context) => {
  const server = await serve(context, { headers: ['A', '\n'] });
  const received = await exchange(server.port, [REQUEST], { responsesMax: 1 });
  assert.match(received, /^HTTP\/1\.1 500 [^]*\r\nX-Request-Id: new\r\n/);
});

test('a last response that waits for its client is sent to its end, also while the client sends more', async (context) => {
  const socket = connectTo(context, await serve(context, LARGE, PATIENT), true);
  socket.write(REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  await once(socket, 'readable');
  for (let count = 0; count < 20; count += 1) {
    socket.write(REQUEST.repeat(5_000));
    await sleep(20);
  }
  const received = await Array.fromAsync<Buffer>(socket);
  assert.ok(Buffer.concat(received).length > LARGE.body.length);
});

test('bytes that are not a request get an Error with a request id', async (context) => {
  const server = await serve(context);
  const [response] = parseResponses(await exchange(server.port, ['hello\r\n\r\n']));
  assert.equal(response?.status, 400);
  assert.match(response?.head ?? '', /^X-Request-Id: new$/m);
});

test(
  'what watches responses, as OpenTelemetry does, sees the end and the status of each, also of the last one',
  { timeout: 10_000 },
  async (context) => {
    const ended: number[] = [];
    watchResponses(context, (response) => {
      response.on('close', () => ended.push(response.statusCode));
    });
    const socket = connectTo(context, await serve(context, { status: 404 }));
    await ask(socket);
    while (ended.length === 0) await turn();
    socket.write(REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    // The client does not close yet.
    while (ended.length === 1) await turn();
    assert.deepEqual(ended, [404, 404]);
    socket.end();
    await once(socket, 'close');
    assert.deepEqual(ended, [404, 404]);
  },
);

test('a response that the client does not receive ends without having finished', async (context) => {
  const events: string[] = [];
  watchResponses(context, (response) => {
    for (const name of ['finish', 'close']) response.on(name, () => events.push(name));
  });
  const socket = await openConnection(context, LARGE);
  await ask(socket);
  socket.resetAndDestroy();
  while (!events.includes('close')) await turn();
  assert.deepEqual(events, ['close']);
});

/** Calls `watch` with each response before the server gets it. */
function watchResponses(context: TestContext, watch: (response: ServerResponse) => void): void {
  const emit = Reflect.get(Server.prototype, 'emit');
  context.mock.method(Server.prototype, 'emit', function (this: Server, ...event: unknown[]) {
    const [name, , response] = event as [string, unknown, ServerResponse];
    if (name === 'request') watch(response);
    return Reflect.apply(emit, this, event) as boolean;
  });
}

test('refused connections are reported once per minute, for as long as there are any', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const listener = createNodeServer(200, {});
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const reported: number[] = [];
  const server = new HttpServer(listener, {
    createHandler: () => ({ handle: () => assert.fail('nothing is sent') }),
    host: '127.0.0.1',
    port: 0,
    newRequestId: () => 'x',
    onDrop: (connectionsMax) => reported.push(connectionsMax),
  });
  listener.maxConnections = 7;
  context.after(() => server.close(0));
  for (let minute = 1; minute <= 3; minute += 1) {
    listener.emit('drop');
    listener.emit('drop');
    assert.deepEqual(reported, Array(minute).fill(7));
    context.mock.timers.tick(60_000);
  }
});
