import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { openServer } from './server.ts';

const LOOK_MS = 5_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** A server whose looks at its connections are in the hands of the test. */
async function openWatched(context: TestContext, body = 'hello'): Promise<Socket> {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const length = ['Content-Length', String(body.length)];
  const server = await openServer({
    createHandle: () => () => ({ status: 200, headers: length, body }),
    host: '127.0.0.1',
    port: 0,
    newRequestId: () => 'x',
  });
  context.after(() => server.close(0));
  const socket = connect(server.port, '127.0.0.1');
  context.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function ask(socket: Socket): Promise<string> {
  socket.write(REQUEST);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString();
}

/** Lets the server look that often, and sees what comes of it. */
async function look(context: TestContext, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    context.mock.timers.tick(LOOK_MS);
    await turn();
  }
}

test('a connection that was used within 65 seconds is kept, and one that was not is closed', async (context) => {
  const socket = await openWatched(context);
  const closed = once(socket, 'close');
  assert.match(await ask(socket), /\r\nConnection: keep-alive\r\n/);
  await look(context, 13);
  assert.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n/);
  await look(context, 14);
  await closed;
});

test('a client that stopped reading its answer is let go', async (context) => {
  const socket = await openWatched(context, 'x'.repeat(16 * 1024 * 1024));
  const closed = once(socket, 'close');
  socket.write(REQUEST);
  await once(socket, 'data');
  socket.pause();
  // What the system still takes into its buffers counts as read.
  await new Promise((resolve) => {
    setTimeout(resolve, 200);
  });
  await look(context, 14);
  socket.resume();
  await closed;
});
