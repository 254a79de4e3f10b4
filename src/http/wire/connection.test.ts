// The order of what happens on one connection, on a socket that leads nowhere.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { Refusal } from '../../domain/errors.ts';
import type { HttpRequest, HttpResponse } from '../message.ts';
import { Connection } from './connection.ts';
import { Exchange, ReceivedRequest } from './node-http.ts';

const KIB = 1024;

function socketWithRead(): Socket {
  const socket = new Socket();
  return Object.defineProperty(socket, 'bytesRead', { value: 1_000 * KIB, configurable: true });
}

/** One connection, and the requests that it is given. None of them gets its response, unless there is one for all. */
function openConnection(t: TestContext, socket = socketWithRead(), sent?: HttpResponse) {
  t.after(() => socket.destroy());
  const begun: HttpRequest[] = [];
  const seen = { occupiedBytes: 0, refusals: 0, responses: 0 };
  const connection = new Connection(socket, {
    responder: {
      handle: (request) => {
        begun.push(request);
        return sent === undefined ? new Promise(() => undefined) : Promise.resolve(sent);
      },
      respondToRefusal: () => {
        seen.refusals += 1;
        return { status: 400, headers: [], body: '' };
      },
      respondToInvalid: (response) => response,
      bodyBytesMax: (target) => (target === '/list' ? KIB * KIB : undefined),
    },
    isReadingPaused: false,
    isClosing: false,
    occupy: (_, bytes) => (seen.occupiedBytes = bytes),
    noteResponse: () => (seen.responses += 1),
    close: () => socket.destroy(),
  });
  socket.once('close', () => connection.abandon());
  const accept = (target = '/') => {
    const request = new ReceivedRequest(socket);
    request.url = target;
    request.headers = { 'content-length': '50000' };
    [request.httpVersionMajor, request.httpVersionMinor] = [1, 1];
    connection.accept(new Exchange(request, new ServerResponse(request)));
    return request;
  };
  return { socket, connection, begun, seen, accept };
}

test('a connection occupies the body that it receives, what was read behind it, and 16 KiB for each request', (t) => {
  const { socket, accept, begun, seen } = openConnection(t);
  let bytesRead = 300;
  Object.defineProperty(socket, 'bytesRead', { get: () => bytesRead });
  const first = accept();
  first.push(Buffer.alloc(100));
  assert.equal(seen.occupiedBytes, 100);
  accept();
  assert.equal(seen.occupiedBytes, 100 + 300 + 16 * KIB);
  bytesRead = 1_000 * KIB;
  accept();
  assert.equal(seen.occupiedBytes, 100 + 64 * KIB + 2 * 16 * KIB, 'a read has at most 64 KiB');
  assert.equal(begun.length, 1, 'one request at a time');
});

test('the body of a target with a limit of its own occupies memory as any other, up to that limit', (t) => {
  const { accept, seen } = openConnection(t);
  const list = accept('/list');
  for (let chunk = 0; chunk < 16; chunk += 1) list.push(Buffer.alloc(64 * KIB));
  assert.equal(seen.occupiedBytes, KIB * KIB);
  list.push(Buffer.alloc(1));
  assert.equal(seen.occupiedBytes, 0, 'it is over its limit');
});

for (const state of ['idle', 'handling']) {
  test(`what node:http still parses of a connection that was destroyed while ${state} counts until it is closed, and is not handled`, async (t) => {
    const { accept, socket, begun, seen } = openConnection(t);
    if (state === 'handling') accept();
    const begunBefore = begun.length;
    const closed = once(socket, 'close');
    socket.destroy();
    for (const held of [1, 2, 3]) {
      accept();
      assert.equal(seen.occupiedBytes, 64 * KIB + held * 16 * KIB);
    }
    await closed;
    accept();
    assert.equal(begun.length, begunBefore);
  });
}

test('while a request is held, its connection is not read, even if node:http resumes it', async (t) => {
  const { accept, socket } = openConnection(t);
  accept();
  assert.equal(socket.isPaused(), false);
  accept();
  assert.equal(socket.isPaused(), true);
  socket.resume();
  await turn();
  assert.equal(socket.isPaused(), true);
});

test('a body is received up to its second chunk, and further only when it is read', async (t) => {
  const { accept, socket } = openConnection(t);
  const request = accept();
  const pausedAfter = (text: string) => {
    request.push(Buffer.from(text));
    return socket.isPaused();
  };
  assert.deepEqual(['{', '"'].map(pausedAfter), [false, true]);
  const body = request.body?.read();
  assert.equal(socket.isPaused(), false);
  assert.equal(pausedAfter('a":1}'), false);
  request.push(null);
  assert.equal(String(await body), '{"a":1}');
});

test('invalid bytes end the body of the newest request, and otherwise wait for their turn', async (t) => {
  const { accept, connection, seen } = openConnection(t);
  const refusal = new Refusal('malformed_request', 'The request is not well-formed HTTP.');
  const first = accept();
  const second = accept();
  const [firstBody, secondBody] = [first.body?.read(), second.body?.read()];
  connection.refuse(refusal);
  await assert.rejects(async () => secondBody, refusal);
  first.push(null);
  assert.equal((await firstBody)?.length, 0);
  second.complete = true;
  connection.refuse(refusal);
  connection.refuse(refusal);
  assert.equal(seen.refusals, 0);
});

test('a connection that closes ends the body of its request', async (t) => {
  const { accept, socket } = openConnection(t);
  const body = accept().body?.read();
  socket.destroy();
  await assert.rejects(async () => body, { code: 'malformed_request' });
});

test('behind the request in progress 100 are held; more are not handled, but occupy memory', (t) => {
  const { accept, connection, seen } = openConnection(t);
  for (let count = 0; count <= 100; count += 1) accept();
  assert.equal(seen.occupiedBytes, (64 + 100 * 16) * KIB);
  const ignored = accept();
  assert.equal(ignored.body, undefined, 'its body is not received');
  assert.equal(seen.occupiedBytes, (64 + 101 * 16) * KIB);
  connection.refuse(new Refusal('malformed_request', 'The request is not well-formed HTTP.'));
  assert.equal(seen.occupiedBytes, (64 + 101 * 16) * KIB, 'bytes that are no request are not kept');
});

test('a connection occupies what the client has not read of a response, and has responded when all is sent', async (t) => {
  const bodyBytes = 32 * KIB * KIB;
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  const [socket] = (await once(server, 'connection')) as [Socket];
  const response = { status: 200, headers: [], body: 'x'.repeat(bodyBytes) };
  const { accept, seen } = openConnection(t, socket, response);
  for (let count = 0; count < 2; count += 1) accept().complete = true;
  await turn();
  // The system keeps a few MiB for a client that does not read.
  assert.ok(seen.occupiedBytes > bodyBytes / 2, `${seen.occupiedBytes} bytes`);
  assert.equal(seen.responses, 0);
  let received = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received > 2 * bodyBytes) break;
  }
  assert.ok(seen.responses > 0, 'the second response follows the first');
});
