// What a stranger without a key may not do: keep the service from stopping, cut the requests of others, or take all
// places.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { exchange, parseResponses } from '../../harness/raw-socket.ts';
import { MAIN } from '../../harness/command.ts';
import { serve, type ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
/** A service that is told to stop drains for 8 seconds. The rest is for a busy machine. */
const STOPPED_MS_MAX = 30_000;

const portOf = ({ baseUrl }: ServiceProcess) => Number(new URL(baseUrl).port);

/** Connects, sends the bytes, and reads nothing. */
function sendUnread(t: TestContext, port: number, bytes: string): Socket {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(bytes);
  return socket;
}

/** Sends pipelined requests and CONNECT in one packet, on two connections, and waits until they were read. */
async function holdService(t: TestContext, service: ServiceProcess): Promise<void> {
  const authorization = `Bearer ${service.key}`;
  // A page of 100 KB, so that the system cannot buffer 99 of them.
  const body = JSON.stringify({ name: '\u{1F431}'.repeat(255), categoryId: 1 });
  const create = { method: 'POST', headers: { authorization }, body };
  const pets = `${service.baseUrl}/pets`;
  for (let half = 0; half < 2; half += 1) {
    await Promise.all(Array.from({ length: 50 }, () => send(pets, create)));
  }
  const list = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`;
  for (const requests of [99, 400]) sendUnread(t, portOf(service), list.repeat(requests) + CONNECT);
  await sleep(300);
  assert.equal(parseResponses(await exchange(portOf(service), [LIVEZ]))[0]?.status, 200);
}

async function requireEnd(service: ServiceProcess, code: number): Promise<void> {
  const hangs = sleep(STOPPED_MS_MAX, 'it still runs', { ref: false });
  assert.equal(await Promise.race([service.ended, hangs]), code, service.stderr());
}

describe(
  'A client that sends CONNECT behind requests and never reads',
  { concurrency: true },
  () => {
    for (const [what, flags] of [
      ['one process', []],
      ['two workers', ['--workers', '2']],
    ] as const) {
      test(`does not keep ${what} from stopping`, async (t) => {
        const service = await serve(t, ['--data', temporaryFolder(t), ...flags]);
        await holdService(t, service);
        service.signal('SIGTERM');
        await requireEnd(service, 0);
      });
    }

    test('does not keep a process on PostgreSQL from stopping', async (t) => {
      const postgres = await PostgresServer.start();
      t.after(() => postgres.stop('immediate'));
      const database = postgres.url(await postgres.createDatabase());
      const service = await serve(t, ['--database', database]);
      await holdService(t, service);
      service.signal('SIGTERM');
      await requireEnd(service, 0);
    });

    test('does not keep a service alive whose file was deleted', async (t) => {
      const data = temporaryFolder(t);
      const service = await serve(t, ['--data', data]);
      await holdService(t, service);
      rmSync(join(data, 'production', 'petstore.sqlite'));
      await requireEnd(service, 1);
    });
  },
);

/** Uploads an animal of 40 KB within three seconds, and returns the status. */
async function uploadSlowly(port: number, key: string, name: string): Promise<number> {
  const pieces = 30;
  const body = JSON.stringify({ name, categoryId: 1 }).padEnd(40_000);
  const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
  const socket = connect(port, '127.0.0.1');
  const response = Array.fromAsync<Buffer>(socket).catch(() => []);
  socket.write(`${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
  for (let sent = 0; sent < body.length && !socket.destroyed; sent += body.length / pieces) {
    socket.write(body.slice(sent, sent + body.length / pieces));
    await sleep(3_000 / pieces);
  }
  return parseResponses(Buffer.concat(await response).toString())[0]?.status ?? 0;
}

test('strangers that send packets full of requests do not cut the uploads of others', async (t) => {
  const service = await serve(t, ['--data', temporaryFolder(t)]);
  const port = portOf(service);
  const packet = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_407);
  const uploads = Promise.all(
    Array.from({ length: 12 }, (_, index) => uploadSlowly(port, service.key, `slow-${index}`)),
  );
  const attack = setInterval(() => sendUnread(t, port, packet), 50);
  void uploads.finally(() => clearInterval(attack));
  assert.deepEqual(await uploads, Array(12).fill(201));
});

test('strangers with invented keys, each with a few requests, do not cut the uploads of clients', async (t) => {
  const service = await serve(t, ['--data', temporaryFolder(t)]);
  const port = portOf(service);
  const get = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
  const sockets = Array.from({ length: 700 }, () => sendUnread(t, port, get));
  const uploads = Promise.all(
    Array.from({ length: 12 }, (_, index) => uploadSlowly(port, service.key, `slow-${index}`)),
  );
  const attack = setInterval(() => {
    for (const socket of sockets) {
      // An unknown key waits for the next read of the keys, and 112 KiB of requests behind it.
      const key = newSecret('production', randomBytes);
      const list = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
      if (!socket.destroyed) socket.write(list + get.repeat(7));
    }
  }, 500);
  void uploads.finally(() => clearInterval(attack));
  assert.deepEqual(await uploads, Array(12).fill(201));
});

test(
  'strangers take no place of an idle client, and their closings are counted and logged',
  { skip: NEEDS_LINUX },
  async (t) => {
    const places = 100;
    const limited = ['sh', '-c', `ulimit -n ${places + 128}; exec "$0" "$@"`] as const;
    const service = await serve(t, ['--data', temporaryFolder(t), '--admin-port', '0'], {
      command: [...limited, process.execPath, MAIN],
    });
    const port = portOf(service);
    const agent = new Agent({ keepAlive: true, maxSockets: 10 });
    t.after(() => agent.destroy());
    const listAll = async () =>
      Promise.all(Array.from({ length: 10 }, () => listOn(agent, port, service.key)));
    const ports = await listAll();
    assert.equal(new Set(ports).size, 10);
    // Idle for longer than a client may be where there is no stranger.
    await sleep(1_500);
    const livez = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
    for (let count = 0; count < 2 * places; count += 1) sendUnread(t, port, livez);
    const closed = () => figure(service, 'connections_closed_for_room_total');
    await until('strangers make room', async () => (await closed()) > 0);
    assert.deepEqual(new Set(await listAll()), new Set(ports), 'no connection was replaced');
    const said = '"clients":0,"msg":"connections were closed because memory or places ran short"';
    await until('the log has it', async () => service.stderr().includes(said));
  },
);

/** Lists on a connection of the agent, and returns the local port of that connection. */
function listOn(agent: Agent, port: number, key: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = request({ port, path: '/v1/pets', agent, headers }, (response) => {
      const { localPort } = response.socket;
      response.resume().on('end', () => resolve(localPort));
    });
    sent.on('error', reject).end();
  });
}

test(
  'idle strangers make room for others once nine tenths of the places are taken, and are counted',
  { skip: NEEDS_LINUX },
  async (t) => {
    const places = 100;
    // 128 descriptors are reserved.
    const limited = ['sh', '-c', `ulimit -n ${places + 128}; exec "$0" "$@"`] as const;
    const service = await serve(t, ['--data', temporaryFolder(t), '--admin-port', '0'], {
      command: [...limited, process.execPath, MAIN],
    });
    const port = portOf(service);
    for (let count = 0; count < places; count += 1) {
      sendUnread(t, port, count % 2 === 0 ? '' : 'GET / HT');
    }
    const taken = async () =>
      (await figure(service, 'connections')) +
      (await figure(service, 'connections_closed_for_room_total'));
    await until('nearly all places are taken', async () => (await taken()) >= 90);
    const isServed = async () => (await exchange(port, [LIVEZ])).startsWith('HTTP/1.1 200 ');
    await until('the first request is served', isServed);
    for (let count = 0; count < 50; count += 1) assert.ok(await isServed(), `request ${count}`);
    assert.ok((await figure(service, 'connections_closed_for_room_total')) >= 1);
  },
);

/** A figure of /metrics. */
async function figure({ adminUrl }: ServiceProcess, name: string): Promise<number> {
  const { text } = await send(`${adminUrl}/metrics`);
  return Number(new RegExp(`^petstore_${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 'NaN');
}
