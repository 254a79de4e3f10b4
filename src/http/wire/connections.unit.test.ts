// The memory and the places that connections share, on sockets that lead nowhere.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Connection, Responder } from './connection.ts';
import { Connections } from './connections.ts';
import { Exchange, ReceivedRequest } from './node-http.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const OCCUPIED_MAX = 64 * MIB;
const QUIET_MS_MAX = 65_000;

/** It never responds. */
const RESPONDER: Responder = {
  handle: () => new Promise(() => undefined),
  respondToRefusal: () => ({ status: 400, headers: [], body: '' }),
  respondToInvalid: () => ({ status: 500, headers: [], body: '' }),
};

/** Connections whose timers and time the test moves. */
function openConnections(t: TestContext, count: number, connectionsMax = 10_000) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const time = { nowMs: 0 };
  const nowMs = () => time.nowMs;
  const all = new Connections(RESPONDER, { connectionsMax, quietMsMax: QUIET_MS_MAX, nowMs });
  const opened: { socket: Socket; connection: Connection }[] = [];
  const add = () => {
    const socket = new Socket();
    all.add(socket);
    t.after(() => socket.destroy());
    opened.push({ socket, connection: all.find(socket) as Connection });
  };
  for (let index = 0; index < count; index += 1) add();
  const at = (index: number) => opened[index]?.connection as Connection;
  const occupy = (index: number, bytes: number) => all.occupy(at(index), bytes);
  const respond = (index: number) => all.noteResponse(at(index));
  const closed = () => opened.flatMap(({ socket }, index) => (socket.destroyed ? [index] : []));
  return { all, opened, time, add, at, occupy, respond, closed };
}

/** Gives a connection a request that is not complete. */
function beginRequest(connection: Connection): ReceivedRequest {
  const request = new ReceivedRequest(connection.socket);
  request.headers = { 'content-length': '50000' };
  connection.accept(new Exchange(request, new ServerResponse(request)));
  return request;
}

/** A byte arrives whenever the time has moved. */
function moveBytes(socket: Socket | undefined, time: { nowMs: number }): void {
  Object.defineProperty(socket, 'bytesRead', { get: () => time.nowMs });
}

test('up to 64 MiB no connection is closed, and beyond the largest ones until 56 MiB are left', (t) => {
  const { occupy, closed } = openConnections(t, 5);
  occupy(0, 1);
  occupy(1, 16 * MIB);
  occupy(2, 6 * MIB);
  occupy(3, 4 * MIB);
  occupy(4, 38 * MIB - 1);
  assert.deepEqual(closed(), []);
  occupy(3, 4 * MIB + 1);
  assert.deepEqual(closed(), [4], 'the largest is enough');
  occupy(2, 44 * MIB);
  assert.deepEqual(closed(), [2, 4], 'also if it is the one that grows');
});

test('of connections up to 128 KiB, the one longest without a response is closed first, and only after the larger ones', (t) => {
  const { occupy, respond, closed } = openConnections(t, 514);
  for (let index = 0; index < 447; index += 1) occupy(index, 128 * KIB);
  occupy(512, 8 * MIB);
  respond(0);
  assert.deepEqual(closed(), []);
  occupy(513, 128 * KIB + 1);
  assert.deepEqual(closed(), [512, 513], 'the two large ones');
});

test('of small connections, the one longest without a response is closed first', (t) => {
  const { time, occupy, respond, closed } = openConnections(t, 514);
  time.nowMs = 1;
  for (let index = 0; index < 512; index += 1) occupy(index, 128 * KIB);
  respond(0);
  assert.deepEqual(closed(), []);
  occupy(513, 1);
  assert.deepEqual(
    closed(),
    [...Array(65).keys()].map((index) => index + 1),
  );
});

test('what a closed connection has occupied is free', async (t) => {
  const { all, opened, occupy, closed } = openConnections(t, 2);
  occupy(0, OCCUPIED_MAX);
  const socket = opened[0]?.socket ?? new Socket();
  const ended = once(socket, 'close');
  socket.destroy();
  await ended;
  assert.equal(all.find(socket), undefined);
  occupy(0, OCCUPIED_MAX);
  occupy(1, OCCUPIED_MAX);
  assert.deepEqual(closed(), [0]);
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
  const { all, at, closed } = openConnections(t, 5_000);
  for (let index = 0; index < 5_000; index += 1) {
    beginRequest(at(index)).push(Buffer.alloc(14 * KIB));
    if (all.isReadingPaused) break;
  }
  // Those that are left have 56 MiB.
  assert.equal(closed().length, Math.ceil((8 * MIB) / (14 * KIB)));
});

test('from nine tenths of the places on, a new connection closes an idle one, first those that never had a response', (t) => {
  const { time, add, at, respond, closed } = openConnections(t, 0, 10);
  for (let index = 0; index < 9; index += 1) {
    time.nowMs = index * 100;
    add();
  }
  for (const index of [0, 1]) respond(index);
  beginRequest(at(2));
  time.nowMs = 1_350;
  assert.deepEqual(closed(), []);
  add();
  assert.deepEqual(closed(), [3], 'the longest idle one that never had a response');
  add();
  assert.deepEqual(closed(), [3], 'the others have been idle for less than a second');
  time.nowMs = 1_750;
  for (let count = 0; count < 5; count += 1) add();
  assert.deepEqual(closed(), [3, 4, 5, 6, 7]);
  time.nowMs = 1_850;
  add();
  assert.deepEqual(
    closed(),
    [0, 3, 4, 5, 6, 7, 8].slice(1),
    'number 8 before those with a response',
  );
  for (let count = 0; count < 2; count += 1) add();
  assert.deepEqual(closed(), [0, 1, 3, 4, 5, 6, 7, 8], 'and not the one that is being served');
});

test('of idle connections, one that had a response long ago stays longer than a newer one that had none', (t) => {
  const { time, add, respond, closed } = openConnections(t, 1, 10);
  respond(0);
  time.nowMs = 5_000;
  for (let index = 1; index < 9; index += 1) add();
  time.nowMs = 7_000;
  add();
  assert.deepEqual(closed(), [1]);
});

test('making room looks at no connection that stays, however many there are', (t) => {
  const { all, opened, at, time, add, respond, closed } = openConnections(t, 10_000);
  for (let index = 0; index < 10_000; index += 1) respond(index);
  let looks = 0;
  for (let index = 0; index < 10_000; index += 1) {
    Object.defineProperty(at(index), 'isIdle', { get: () => (looks += 1) > 0 });
  }
  time.nowMs = 1_000;
  add();
  all.sweep();
  assert.equal(closed().length, 1 + 1_002);
  assert.equal(looks, closed().length);
  assert.equal(opened.length, 10_001);
});

test('a sweep makes room too, because beyond the last place no new connection is seen', (t) => {
  const { all, time, respond, closed } = openConnections(t, 20, 20);
  time.nowMs = 1_000;
  for (const index of [0, 1]) respond(index);
  all.sweep();
  assert.deepEqual(closed(), [2, 3, 4], 'one place more than nine tenths are taken');
});

test('a connection on which no byte has moved is closed after 65 seconds', (t) => {
  const { all, opened, time, closed } = openConnections(t, 2);
  moveBytes(opened[1]?.socket, time);
  for (time.nowMs = 0; time.nowMs < QUIET_MS_MAX; time.nowMs += 1_000) {
    all.sweep();
    assert.deepEqual(closed(), []);
  }
  all.sweep();
  assert.deepEqual(closed(), [0]);
});

test('the 65 seconds begin with the last byte that moved', (t) => {
  const { all, opened, time, closed } = openConnections(t, 1);
  let bytesRead = 0;
  Object.defineProperty(opened[0]?.socket, 'bytesRead', { get: () => bytesRead });
  for (const [nowMs, isRead] of [
    [60_000, true],
    [70_000, false],
    [60_000 + QUIET_MS_MAX - 1, false],
  ] as const) {
    time.nowMs = nowMs;
    if (isRead) bytesRead += 1;
    all.sweep();
    assert.deepEqual(closed(), [], `${nowMs}`);
  }
  time.nowMs += 1;
  all.sweep();
  assert.deepEqual(closed(), [0]);
});

test('when the service stops, a sweep closes the idle connections on which no byte has moved since the last one', (t) => {
  const { all, opened, at, time, closed } = openConnections(t, 3);
  moveBytes(opened[1]?.socket, time);
  beginRequest(at(2));
  all.sweep();
  time.nowMs = 10;
  all.isClosing = true;
  all.sweep();
  assert.deepEqual(closed(), [0]);
  all.sweep();
  assert.deepEqual(closed(), [0, 1]);
  all.destroyAll();
  assert.deepEqual(closed(), [0, 1, 2]);
});
