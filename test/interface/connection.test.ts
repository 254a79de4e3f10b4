// Several requests on one connection, and clients that misbehave, tested with bytes on a raw socket.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { exchange, parseResponses } from '../../harness/raw-socket.ts';
import { MAIN, runHere } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import {
  send,
  SHORT_TIMEOUTS,
  sqliteStorage,
  startTestService,
  type TestService,
} from '../../harness/test-service.ts';

const MIB = 1024 * 1024;

// The first one, because counting takes the longer the more is in memory.
test('idle connections do not keep their last response in memory', async (t) => {
  const service = await startTestService(sqliteStorage);
  const port = Number(new URL(service.baseUrl).port);
  const sockets = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    return service.close();
  });
  const fields = `Host: a\r\nAuthorization: Bearer ${service.key}\r\n`;
  const body = '{"name":"Rex","categoryId":1}';
  const create = `POST /v1/pets HTTP/1.1\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
  // The body of a request without a valid key is not read.
  const refused = create.replace('Bearer', 'Basic');
  for (const request of [create, `GET /v1/pets HTTP/1.1\r\n${fields}\r\n`, refused]) {
    for (const socket of sockets) {
      socket.write(request);
      await once(socket, 'data');
    }
    const deadlineMs = Date.now() + 10_000;
    let left = responsesInMemory();
    for (; left > 1 && Date.now() < deadlineMs; left = responsesInMemory()) await sleep(100);
    assert.ok(left <= 1, `${left} after ${request}`);
  }
});

describe('One connection', () => {
  let service: TestService;
  let port: number;

  const head = (line: string, ...more: string[]) =>
    [line, 'Host: a', `Authorization: Bearer ${service.key}`, ...more, '', ''].join('\r\n');
  const get = (target: string, ...more: string[]) => head(`GET ${target} HTTP/1.1`, ...more);
  const post = (name: string, ...more: string[]) => {
    const body = JSON.stringify({ name, categoryId: 1 });
    return head('POST /v1/pets HTTP/1.1', `Content-Length: ${body.length}`, ...more) + body;
  };
  const names = async () => {
    const { text } = await service.send('/pets?limit=100');
    return (JSON.parse(text) as { name: string }[]).map(({ name }) => name);
  };

  before(async () => {
    service = await startTestService(sqliteStorage);
    port = Number(new URL(service.baseUrl).port);
  });
  after(() => service.close());

  test('a client that waits for its responses may send any number of requests', async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    for (let round = 0; round < 3; round += 1) {
      let received = '';
      socket.write(get('/v1/pets?limit=1').repeat(101));
      while (parseResponses(received).length < 101) received += String(await once(socket, 'data'));
    }
    socket.destroy();
  });

  test('a list pipelined behind a create contains the created animal', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = `behind-${round}`;
      const [created, listed] = parseResponses(
        await exchange(port, [post(name) + get('/v1/pets?limit=100')], { responsesMax: 2 }),
      );
      assert.equal(created?.status, 201);
      assert.ok(listed?.body.includes(`"${name}"`), `round ${round}: ${listed?.body}`);
    }
  });

  const oneList = () => get('/v1/pets?limit=1');
  const ignored = () => post('ignored');
  const refused = () => ignored().replace(service.key, 'wrong');
  const inChunks = 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n';
  const chunked = () => refused().replace(/Content-Length[^]*/, inChunks);
  const upgrade = () => get('/v1/pets?limit=1', 'Connection: Upgrade', 'Upgrade: h2c');
  const connecting = () => head('CONNECT example.org:443 HTTP/1.1');
  /** A body that the client goes on sending when it is refused. */
  const large = Buffer.alloc(4 * MIB, 0x20);
  const largePost = () => head('POST /v1/pets HTTP/1.1', `Content-Length: ${large.length}`);
  const many = Array<number>(101).fill(200);

  /** No animal with the name "ignored" is ever stored. harness/streams.ts has what else stands on one connection. */
  const exchanges: [what: string, pieces: () => (string | Buffer)[], statuses: number[]][] = [
    ['101 lists is kept', () => [oneList().repeat(101)], many],
    ['102 lists is closed', () => [oneList().repeat(102) + ignored(), ignored()], many],
    ['102 lists and CONNECT is closed', () => [oneList().repeat(102) + connecting()], many],
    ['the offer of an upgrade is closed', () => [upgrade() + ignored(), ignored()], [200]],
    ['4 MB is closed', () => [largePost(), large, ignored()], [413]],
    ['a wrong key is kept', () => [post('a') + refused() + oneList()], [201, 401, 200]],
    ['a wrong key with a body in chunks is kept', () => [chunked() + oneList()], [401, 200]],
  ];
  for (const [what, pieces, statuses] of exchanges) {
    test(`a connection with ${what}, and what comes after a close is not handled`, async () => {
      const isKept = what.endsWith('kept');
      const options = isKept ? { responsesMax: statuses.length } : {};
      const responses = parseResponses(await exchange(port, pieces(), options));
      const received = responses.map(({ status }) => status);
      assert.deepEqual(received, statuses);
      assert.equal(/^connection: close$/im.test(responses.at(-1)?.head ?? ''), !isKept);
      assert.ok(!(await names()).includes('ignored'));
    });
  }

  test('after a refusal that did not read the body, the client gets a FIN and has 2 seconds to close', async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write('POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{');
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    await once(socket, 'end');
    const endedMs = performance.now();
    assert.match(received, /^HTTP\/1\.1 401 [^]*connection: close/i);
    const closed = once(socket, 'close').catch(() => undefined);
    // A client that goes on sending is read until the time is over, and then gets a reset.
    const sending = setInterval(() => socket.write('x'), 50);
    await closed;
    clearInterval(sending);
    assert.ok(performance.now() - endedMs > 1_500, 'the connection was closed too early');
  });

  test('a body of 4,096 chunks is stored, and one of 4,097 is 413', async () => {
    for (const [chunks, status] of [
      [4_096, 201],
      [4_097, 413],
    ] as const) {
      const body = JSON.stringify({ name: 'chunked', categoryId: 1 }).padEnd(chunks);
      const coded = body.replaceAll(/./g, '1\r\n$&\r\n');
      const request = head('POST /v1/pets HTTP/1.1', 'Transfer-Encoding: chunked');
      const bytes = `${request}${coded}0\r\n\r\n`;
      const [response] = parseResponses(await exchange(port, [bytes], { responsesMax: 1 }));
      assert.equal(response?.status, status);
      if (status === 413) assert.match(response.body, /"code":"body_too_large"/);
    }
  });

  test('a key that is revoked or expires before the last byte of a create stores nothing', async () => {
    const expiresAt = new Date(Date.now() + 60 * 60 * 1_000);
    const cases = [
      ['expired_api_key', await service.addKey({ expiresAt }), async () => setAfter(expiresAt)],
      ['invalid_api_key', await service.addKey({}), async () => revoke()],
    ] as const;
    const setAfter = (moment: Date) => service.setNow(new Date(moment.getTime() + 1));
    const revoke = async () => {
      const key = (await service.listKeys()).at(-1);
      await runHere(['keys', 'revoke', key?.id ?? '', ...service.flags]);
    };
    for (const [code, secret, end] of cases) {
      const list = { headers: { authorization: `Bearer ${secret}` } };
      assert.equal((await service.send('/pets', list)).status, 200);
      const request = post(`held-back ${code}`).replace(service.key, secret);
      const socket = connect(port, '127.0.0.1').setEncoding('utf8');
      socket.write(request.slice(0, -1));
      await end();
      while ((await service.send('/pets', list)).status !== 401) await sleep(100);
      socket.write(request.slice(-1));
      const [received] = (await once(socket, 'data')) as [string];
      socket.destroy();
      assert.match(received, /^HTTP\/1\.1 401 /);
      assert.ok(received.includes(`"code":"${code}"`), received);
      assert.ok(!(await names()).includes(`held-back ${code}`));
    }
  });

  test('a client that gets a 413 with Connection: close is not reset while it sends its body', async () => {
    const part = Buffer.alloc(64 * 1024, 0x20);
    const parts = 40;
    const length = `Content-Length: ${parts * part.length}`;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(head('POST /v1/pets HTTP/1.1', length, 'Connection: close'));
    const [response] = (await once(socket, 'data')) as [Buffer];
    assert.match(response.toString(), /^HTTP\/1.1 413 /);
    // A reset is an error on the socket, which rejects the promise.
    const closed = once(socket, 'close');
    for (let sent = 0; sent < parts; sent += 1) {
      socket.write(part);
      await sleep(5);
    }
    socket.end();
    assert.deepEqual(await closed, [false]);
  });

  test('a body that does not arrive in time is logged and counted as the 408 that was sent', async (t) => {
    const impatient = await startTestService(sqliteStorage, { clientTimeouts: SHORT_TIMEOUTS });
    t.after(() => impatient.close());
    const slow = head('POST /v1/pets HTTP/1.1', 'Content-Length: 9', 'X-Request-Id: too-slow');
    const bytes = `${slow}{`.replace(service.key, impatient.key);
    const impatientPort = Number(new URL(impatient.baseUrl).port);
    const [response] = parseResponses(await exchange(impatientPort, [bytes]));
    assert.equal(response?.status, 408);
    const line = impatient.logLines.find((each) => each.includes('"too-slow"')) ?? '{}';
    assert.equal((JSON.parse(line) as { status: number }).status, 408);
  });
});

test('the body of an aborted upload does not wait for a complete garbage collection', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const port = Number(new URL(service.baseUrl).port);
  const fields = `Host: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Length: 60000`;
  const upload = `POST /v1/pets HTTP/1.1\r\n${fields}\r\n\r\n${' '.repeat(59_999)}`;
  setFlagsFromString('--expose-gc');
  const collectYoung = runInNewContext("() => gc({ type: 'minor' })") as () => void;
  const bytesBefore = process.memoryUsage().arrayBuffers;
  for (let sent = 0; sent < 100; sent += 1) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    await new Promise((resolve) => socket.write(upload, resolve));
    await sleep(5);
    socket.destroy();
    if (sent % 10 === 0) collectYoung();
  }
  collectYoung();
  const keptMiB = (process.memoryUsage().arrayBuffers - bytesBefore) / MIB;
  assert.ok(keptMiB < 2, `${keptMiB} MiB are left of 5.7`);
});

function responsesInMemory(): number {
  return queryObjects(ServerResponse, { format: 'count' });
}

test(
  'beyond what the descriptors of the process allow, connections are refused, counted and logged once, and /metrics responds',
  { skip: NEEDS_LINUX },
  async (t) => {
    const [descriptors, reserved, tried] = [200, 128, 150];
    const limited = ['sh', '-c', `ulimit -n ${descriptors}; exec "$0" "$@"`] as const;
    const service = await serve(t, ['--data', temporaryFolder(t), '--admin-port', '0'], {
      command: [...limited, process.execPath, MAIN],
    });
    const port = Number(new URL(service.baseUrl).port);
    const sockets = Array.from({ length: tried }, () => {
      const socket = connect(port, '127.0.0.1');
      return socket.on('error', () => undefined);
    });
    const closedCount = () => sockets.filter((socket) => socket.closed).length;
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    const refused = tried - (descriptors - reserved);
    const deadlineMs = performance.now() + 30_000;
    while (closedCount() < refused && performance.now() < deadlineMs) await sleep(20);
    const { status, text } = await send(`${service.adminUrl}/metrics`);
    assert.equal(status, 200);
    assert.match(text, new RegExp(`^petstore_connections ${descriptors - reserved}$`, 'm'));
    assert.match(text, new RegExp(`^petstore_connections_refused_total ${refused}$`, 'm'));
    const lines = service.stderr().match(/.*connections are refused.*/g) ?? [];
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /"level":"error".*"connectionsMax":72,/);
  },
);
