// The memory and the places that connections share, on sockets that lead nowhere.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Connection, Responder } from './connection.ts';
import { Connections, type ClosedForRoom } from './connections.ts';
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
  const reports: ClosedForRoom[] = [];
  const limits = { connectionsMax, quietMsMax: QUIET_MS_MAX, nowMs };
  const onClosedForRoom = (closed: ClosedForRoom) => reports.push(closed);
  const all = new Connections(RESPONDER, { ...limits, onClosedForRoom });
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
  const closed = () => opened.flatMap(({ socket }, index) => (socket.destroyed ? [index] : []));
  /** The app accepts the key of the request that is in progress, or of one that was. */
  const acceptKey = (index: number) =>
    Object.defineProperty(at(index), 'isClient', { value: true });
  return { all, opened, time, add, at, occupy, acceptKey, reports, closed };
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

interface Open {
  isClient?: true;
  kib: number;
  /** When it finished its last response. */
  sinceMs?: number;
}

const stranger = (kib: number, sinceMs = 0): Open => ({ kib, sinceMs });
const client = (kib: number, sinceMs = 0): Open => ({ isClient: true, kib, sinceMs });
const MANY = 32 * KIB;

/** Each has 64 MiB and a KiB more. At least 8 MiB are freed. */
const SHORT_OF_MEMORY: [what: string, connections: Open[], closed: number[]][] = [
  ['the largest of strangers', [stranger(MANY), stranger(MANY - KIB), stranger(KIB + 1)], [0]],
  [
    'as many as it takes',
    [stranger(4 * KIB), client(50 * KIB), stranger(6 * KIB), stranger(4 * KIB + 1)],
    [2, 3],
  ],
  ['a small stranger before a large client', [client(56 * KIB), stranger(8 * KIB + 1)], [1]],
  [
    'all strangers before the largest client',
    [client(40 * KIB), client(20 * KIB), stranger(2 * KIB), stranger(2 * KIB + 1)],
    [0, 2, 3],
  ],
  ['among equals the longest idle', [stranger(MANY, 5), client(1), stranger(MANY, 4)], [2]],
  ['the longest idle of clients too', [client(MANY, 5), client(1), client(MANY, 4)], [2]],
];

for (const [what, connections, expected] of SHORT_OF_MEMORY) {
  test(`beyond 64 MiB connections are closed until 56 are left: ${what}`, (t) => {
    const { all, at, time, occupy, acceptKey, closed } = openConnections(t, connections.length);
    for (const [index, { isClient, kib, sinceMs = 0 }] of connections.entries()) {
      if (isClient === true) acceptKey(index);
      time.nowMs = sinceMs;
      all.noteResponse(at(index));
      assert.deepEqual(closed(), [], 'up to 64 MiB none is closed');
      occupy(index, kib * KIB);
    }
    assert.deepEqual(closed(), expected);
  });
}

test('the connection that grows may be the one that is closed', (t) => {
  const { occupy, closed } = openConnections(t, 2);
  occupy(0, 30 * MIB);
  occupy(1, 40 * MIB);
  assert.deepEqual(closed(), [1]);
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

/** Of 20 places 18 or 19 are taken when another one comes at 10 s: 17 are kept. */
const PLACES = 20;
const SHORT_OF_PLACES: [what: string, kinds: string, closed: number[]][] = [
  ['strangers before clients', '16 idle client, 3 stranger', [16, 17]],
  ['the longest idle client', '19 idle client', [0, 1]],
  ['strangers, then clients', '17 idle client, 1 stranger', [17]],
  ['no client that is served', '17 busy client, 2 idle client', [17, 18]],
  ['nobody, where all clients are served', '19 busy client', []],
  ['a stranger whatever it does', '17 idle client, 2 busy stranger', [17, 18]],
  ['no client for a stranger that has just come', '17 idle client, 2 fresh stranger', []],
  ['no client that was idle for less than a second', '19 fresh client', []],
  ['no stranger that came within a second', '19 fresh stranger', []],
  ['a stranger that had a response just now', '17 idle client, 2 served stranger', [17, 18]],
];

for (const [what, kinds, expected] of SHORT_OF_PLACES) {
  test(`from nine tenths of the places on, a new connection closes ${what}`, (t) => {
    const { all, at, time, add, acceptKey, reports, closed } = openConnections(t, 0, PLACES);
    const list = kinds.split(', ').flatMap((part) => {
      const [, count, kind = ''] = /^(\d+) (.*)$/.exec(part) ?? [];
      return Array<string>(Number(count)).fill(kind);
    });
    // The first attempt is early, and finds nobody.
    for (const [index, kind] of list.entries()) {
      time.nowMs = kind.startsWith('fresh') ? 9_500 : index;
      add();
      if (kind.startsWith('busy')) beginRequest(at(index));
      if (kind.endsWith('client')) acceptKey(index);
      if (kind.startsWith('served')) time.nowMs = 9_999;
      all.noteResponse(at(index));
    }
    assert.deepEqual(closed(), []);
    time.nowMs = 10_000;
    add();
    assert.deepEqual(closed(), expected);
    all.sweep();
    assert.equal(reports.length, expected.length > 0 ? 1 : 0);
  });
}

test('what was closed for room is counted, and reported at most once per minute', (t) => {
  const { all, time, occupy, acceptKey, reports } = openConnections(t, 6);
  acceptKey(4);
  for (const index of [0, 1]) occupy(index, 40 * MIB);
  all.sweep();
  assert.deepEqual(reports, [{ strangers: 1, clients: 0 }]);
  for (const index of [2, 3]) occupy(index, 40 * MIB);
  occupy(4, OCCUPIED_MAX);
  occupy(5, 1);
  time.nowMs = 59_999;
  all.sweep();
  assert.equal(reports.length, 1);
  time.nowMs = 60_000;
  all.sweep();
  all.sweep();
  assert.deepEqual(reports.slice(1), [{ strangers: 3, clients: 1 }]);
  const total = all.figures().find(({ name }) => name.endsWith('_closed_for_room_total'));
  assert.equal(total?.values[0]?.value, 5);
});

test('where nobody may be closed, the connections are looked at ten times per second', (t) => {
  const { all, at, time, add } = openConnections(t, 19, PLACES);
  let looks = 0;
  Object.defineProperty(at(0), 'isClient', {
    get: () => {
      looks += 1;
      return false;
    },
  });
  for (time.nowMs = 100; time.nowMs < 900; time.nowMs += 1) {
    if (time.nowMs % 400 === 0) add();
    all.sweep();
  }
  assert.ok(looks >= 1 && looks <= 8, `${looks}`);
});

test('a sweep makes room too, because beyond the last place no new connection is seen', (t) => {
  const { all, time, acceptKey, closed } = openConnections(t, PLACES, PLACES);
  time.nowMs = 1_000;
  for (const index of [0, 1]) acceptKey(index);
  all.sweep();
  assert.deepEqual(closed(), [2, 3, 4], 'until 85 % are taken');
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
