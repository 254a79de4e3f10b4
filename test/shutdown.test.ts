// How the service stops: requests in flight get their responses, and the process ends in time.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exchange, parseResponses } from './raw-socket.ts';
import { serve, temporaryFolder, type Running } from './test-process.ts';

const EXIT_MS_MAX = 10_000;
const MAIN = fileURLToPath(new URL('../bin/petstore.js', import.meta.url));

async function serveIn(
  t: TestContext,
  flags: readonly string[] = [],
): Promise<Running & { port: number }> {
  const folder = temporaryFolder(t);
  const running = await serve(t, ['--data', folder, ...flags]);
  return { ...running, port: Number(new URL(running.baseUrl).port) };
}

function headOf(key: string, length: number): string {
  return `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${length}\r\n\r\n`;
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal}: a request in flight gets its response with Connection: close, and the exit code is 0`, async (t) => {
    const { key, port, kill, ended } = await serveIn(t);
    const body = '{"name":"Last","categoryId":1}';
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    // A reset must fail the assertion below, and not the whole test file.
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => {
      socket.on('close', resolve);
    });
    socket.write(headOf(key, body.length) + body.slice(0, 10));
    // The service must read the head before the signal. After a round trip on another connection it has.
    await exchange(port, ['GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']);
    kill(signal);
    await refusesConnections(port);
    socket.write(body.slice(10));
    await closed;
    const [response] = parseResponses(received);
    assert.equal(response?.status, 201);
    assert.match(response?.head ?? '', /^connection: close$/im);
    assert.equal(await ended, 0);
  });
}

test('SIGTERM with clients that hang stops the service within 10 seconds with exit code 0', async (t) => {
  const { key, port, kill, ended } = await serveIn(t);
  const hanging = [headOf(key, 100), 'GET /v1/pets HTT', ''].map((bytes) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(bytes);
    return socket;
  });
  await exchange(port, ['GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']);
  const startedMs = performance.now();
  kill('SIGTERM');
  assert.equal(await ended, 0);
  assert.ok(performance.now() - startedMs < EXIT_MS_MAX);
  for (const socket of hanging) socket.destroy();
});

// The service runs in its own process, because the test runner would catch an error that ends it.
test('a client that resets its CONNECT does not stop the service', async (t) => {
  const { port, kill, ended } = await serveIn(t);
  for (let round = 0; round < 5; round += 1) {
    await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('data', () => socket.resetAndDestroy());
      socket.on('error', () => undefined);
      socket.on('close', resolve);
      socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    });
  }
  const livez = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  assert.equal(parseResponses(await exchange(port, [livez]))[0]?.status, 200);
  kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('SIGTERM during the start stops the service with exit code 0', async (t) => {
  const data = temporaryFolder(t);
  const args = [MAIN, 'serve', '--port', '0', '--admin-port', 'off', '--data', data];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  // The folder is created when the store is opened, before the service listens.
  while (!existsSync(join(data, 'production'))) await sleep(1);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('the service stops even if nobody reads its log', async (t) => {
  const { port, kill, ended, stopReading } = await serveIn(t, ['--log', 'debug']);
  stopReading();
  const one = `GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${'x'.repeat(128)}\r\n\r\n`;
  for (let round = 0; round < 20; round += 1) {
    const responses = parseResponses(
      await exchange(port, [one.repeat(200)], { responsesMax: 200 }),
    );
    assert.equal(responses.length, 200, 'every request must get its response');
  }
  const startedMs = performance.now();
  kill('SIGTERM');
  const hangs = sleep(2 * EXIT_MS_MAX, 'it still runs', { ref: false });
  assert.equal(await Promise.race([ended, hangs]), 0);
  assert.ok(performance.now() - startedMs < EXIT_MS_MAX);
});

test('a second signal stops the service at once', async (t) => {
  const { key, port, kill, ended, stderr } = await serveIn(t);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(headOf(key, 100));
  await exchange(port, ['GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']);
  kill('SIGTERM');
  await refusesConnections(port);
  assert.match(stderr(), /"msg":"stopping"/);
  kill('SIGTERM');
  assert.equal(await ended, 1);
  socket.destroy();
});

/** Resolves when the port accepts no more connections. */
async function refusesConnections(port: number): Promise<void> {
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 20));
}
