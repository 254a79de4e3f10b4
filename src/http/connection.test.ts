// The order and the memory of connections, on sockets that lead nowhere.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { Refusal } from '../domain/errors.ts';
import { ReceivedRequest } from './body.ts';
import { Connections, type Connection } from './connection.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const OCCUPIED_MAX = 64 * MIB;

/** Connections whose timers the test moves. */
function openConnections(t: TestContext, count: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const all = new Connections();
  const opened = Array.from({ length: count }, () => {
    const socket = new Socket();
    all.add(socket);
    t.after(() => socket.destroy());
    return { socket, connection: all.bySocket.get(socket) as Connection };
  });
  const occupy = (index: number, bytes: number) => {
    const connection = opened[index]?.connection;
    if (connection !== undefined) all.occupy(connection, bytes);
  };
  const closed = () => opened.map(({ socket }) => socket.destroyed);
  return { all, opened, occupy, closed };
}

test('up to 64 MiB no connection is closed, and beyond the oldest until 64 MiB are left', (t) => {
  const { occupy, closed } = openConnections(t, 3);
  occupy(0, 1);
  occupy(1, 40 * MIB);
  occupy(2, 24 * MIB - 1);
  assert.deepEqual(closed(), [false, false, false]);
  occupy(2, 24 * MIB);
  assert.deepEqual(closed(), [true, false, false]);
  occupy(2, 24 * MIB + 1);
  assert.deepEqual(closed(), [true, true, false]);
  occupy(2, OCCUPIED_MAX);
  assert.deepEqual(closed(), [true, true, false]);
  occupy(2, OCCUPIED_MAX + 1);
  assert.deepEqual(closed(), [true, true, true]);
});

test('a connection that occupies nothing, or has been released, is not the oldest any more', (t) => {
  const { all, opened, occupy, closed } = openConnections(t, 3);
  for (const index of [0, 1, 2]) occupy(index, 20 * MIB);
  occupy(0, 0);
  occupy(0, 20 * MIB);
  if (opened[1]) all.release(opened[1].connection);
  occupy(1, 20 * MIB);
  occupy(1, 30 * MIB);
  assert.deepEqual(closed(), [false, false, true]);
  occupy(1, 50 * MIB);
  assert.deepEqual(closed(), [true, false, true]);
});

test('what a closed connection has occupied is free', async (t) => {
  const { all, opened, occupy, closed } = openConnections(t, 2);
  occupy(0, OCCUPIED_MAX);
  const socket = opened[0]?.socket ?? new Socket();
  const ended = once(socket, 'close');
  socket.destroy();
  await ended;
  assert.equal(all.bySocket.has(socket), false);
  occupy(1, OCCUPIED_MAX);
  assert.deepEqual(closed(), [true, false]);
  assert.equal(all.isReadingPaused, false, 'nothing had to be freed');
});

test('when memory was freed, no connection is read until the timers run', (t) => {
  const { all, opened, occupy } = openConnections(t, 3);
  const paused = () => opened.slice(1).map(({ socket }) => socket.isPaused());
  occupy(0, OCCUPIED_MAX);
  assert.deepEqual([all.isReadingPaused, ...paused()], [false, false, false]);
  occupy(1, 1);
  assert.deepEqual([all.isReadingPaused, ...paused()], [true, true, true]);
  t.mock.timers.tick(1);
  assert.deepEqual([all.isReadingPaused, ...paused()], [false, false, false]);
});

test('thousands of connections that receive bodies are closed at once', (t) => {
  const { all, opened, occupy, closed } = openConnections(t, 5_000);
  for (const { socket, connection } of opened.slice(1)) {
    const request = new ReceivedRequest(socket);
    connection.accept(new ServerResponse(request), () => new Promise(() => undefined));
    request.push(Buffer.alloc(KIB));
  }
  occupy(0, OCCUPIED_MAX);
  assert.deepEqual(new Set(closed().slice(1)), new Set([true]));
  assert.equal(closed()[0], false);
  assert.equal(all.isReadingPaused, true);
});

/** One connection, and the requests that it is given. None of them gets its response. */
function openConnection(t: TestContext) {
  const { all, opened } = openConnections(t, 1);
  const { socket, connection } = opened[0] ?? {};
  assert.ok(socket && connection);
  const occupied = t.mock.method(all, 'occupy');
  const begun: ReceivedRequest[] = [];
  return {
    socket,
    connection,
    begun,
    accept: () => {
      const request = new ReceivedRequest(socket);
      const response = new ServerResponse<ReceivedRequest>(request);
      connection.accept(response, () => {
        begun.push(request);
        return new Promise(() => undefined);
      });
      return request;
    },
    occupiedBytes: () => occupied.mock.calls.at(-1)?.arguments[1],
  };
}

test('a connection occupies the body that it receives, what was read behind it, and 16 KiB for each request', (t) => {
  const { accept, begun, occupiedBytes } = openConnection(t);
  const first = accept();
  first.push(Buffer.alloc(100));
  assert.equal(occupiedBytes(), 100);
  accept();
  assert.equal(occupiedBytes(), 100 + 64 * KIB + 16 * KIB);
  accept();
  assert.equal(occupiedBytes(), 100 + 64 * KIB + 2 * 16 * KIB);
  assert.deepEqual(begun, [first], 'one request at a time');
});

for (const state of ['idle', 'handling']) {
  test(`what node:http still parses of a connection that was destroyed while ${state} counts until it is closed, and is not handled`, async (t) => {
    const { accept, socket, begun, occupiedBytes } = openConnection(t);
    if (state === 'handling') accept();
    const begunBefore = begun.length;
    const closed = once(socket, 'close');
    socket.destroy();
    for (const held of [1, 2, 3]) {
      accept();
      assert.equal(occupiedBytes(), 64 * KIB + held * 16 * KIB);
    }
    await closed;
    const occupiedAtClose = occupiedBytes();
    accept();
    assert.equal(occupiedBytes(), occupiedAtClose);
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
  const { accept, connection } = openConnection(t);
  const refusal = new Refusal('malformed_request', 'The request is not well-formed HTTP.');
  const respond = t.mock.fn(() => ({ status: 400, headers: [], body: '' }));
  const first = accept();
  const second = accept();
  const [firstBody, secondBody] = [first.body?.read(), second.body?.read()];
  connection.refuse(refusal, respond);
  await assert.rejects(async () => secondBody, refusal);
  first.push(null);
  assert.equal((await firstBody)?.length, 0);
  second.complete = true;
  connection.refuse(refusal, respond);
  connection.refuse(refusal, respond);
  assert.equal(respond.mock.callCount(), 0);
});

test('a connection that closes ends the body of its request', async (t) => {
  const { accept, socket } = openConnection(t);
  const body = accept().body?.read();
  socket.destroy();
  await assert.rejects(async () => body, { code: 'malformed_request' });
});
