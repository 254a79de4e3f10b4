// Several requests on one connection, and clients that misbehave, tested with bytes on a raw socket.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
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
  const warnings: Error[] = [];
  const noteWarning = (warning: Error) => warnings.push(warning);

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
    process.on('warning', noteWarning);
    service = await startTestService(sqliteStorage);
    port = Number(new URL(service.baseUrl).port);
  });
  after(() => {
    process.off('warning', noteWarning);
    return service.close();
  });

  test('101 pipelined requests get 101 responses in order, and one more closes the connection after these', async () => {
    const requests = Array.from({ length: 500 }, (_, index) =>
      get(`/v1/pets?limit=${(index % 100) + 1}`, `X-Request-Id: r${index}`),
    );
    for (const [sent, isKept] of [
      [101, true],
      [102, false],
      [500, false],
    ] as const) {
      const bytes = requests.slice(0, sent).join('');
      const received = await exchange(port, [bytes], isKept ? { responsesMax: 101 } : {});
      const responses = parseResponses(received);
      assert.equal(responses.length, 101, `${sent} were sent`);
      for (const [index, { status, head: responseHead }] of responses.entries()) {
        assert.equal(status, 200);
        assert.match(responseHead, new RegExp(`^x-request-id: r${index}$`, 'im'));
        const isLast = index === 100 && !isKept;
        assert.match(responseHead, isLast ? /^connection: close$/im : /^connection: keep-alive$/im);
      }
    }
  });

  test('a client that waits for its responses may send any number of requests', async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    for (let round = 0; round < 30; round += 1) {
      let received = '';
      socket.write(get('/v1/pets?limit=1').repeat(101));
      while (parseResponses(received).length < 101) received += String(await once(socket, 'data'));
    }
    socket.destroy();
  });

  test('a list pipelined behind a create contains the created animal', async () => {
    for (let round = 0; round < 20; round += 1) {
      const name = `behind-${round}`;
      const [created, listed] = parseResponses(
        await exchange(port, [post(name) + get('/v1/pets?limit=100')], { responsesMax: 2 }),
      );
      assert.equal(created?.status, 201);
      assert.ok(listed?.body.includes(`"${name}"`), `round ${round}: ${listed?.body}`);
    }
  });

  const oneList = () => get('/v1/pets?limit=1');
  const twoHosts = () => get('/v1/pets', 'Host: b');
  const ignored = () => post('ignored');
  const refused = () => ignored().replace(service.key, 'wrong');
  const inChunks = 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n';
  const upgrade = () => get('/v1/pets?limit=1', 'Connection: Upgrade', 'Upgrade: h2c');
  const connecting = () => head('CONNECT example.org:443 HTTP/1.1');
  const many = Array<number>(101).fill(200);
  /** A body that the client goes on sending when it is refused. */
  const large = Buffer.alloc(4 * MIB, 0x20);
  const largePost = () => head('POST /v1/pets HTTP/1.1', `Content-Length: ${large.length}`);

  /** No animal with the name "ignored" is ever stored. */
  const exchanges: [
    what: string,
    pieces: () => (string | Buffer)[],
    ending: 'kept' | 'closed' | 'half-closed',
    statuses: number[],
    rounds?: number,
  ][] = [
    ['a create behind 102', () => [oneList().repeat(102) + ignored(), ignored()], 'closed', many],
    [
      'invalid bytes behind 103',
      () => [`${oneList().repeat(103)}garbage`, ignored()],
      'closed',
      many,
    ],
    ['CONNECT behind 102', () => [oneList().repeat(102) + connecting(), ignored()], 'closed', many],
    ['a create and no more', () => [post('half')], 'half-closed', [201], 20],
    ['many and no more', () => [post('a') + oneList() + post('b')], 'half-closed', [201, 200, 201]],
    ['CONNECT', () => [post('a') + connecting() + ignored()], 'closed', [201, 501]],
    ['the offer of an upgrade', () => [upgrade() + ignored(), ignored()], 'closed', [200]],
    ['two hosts', () => [twoHosts() + ignored()], 'closed', [400]],
    ['two hosts behind a create', () => [post('a') + twoHosts() + ignored()], 'closed', [201, 400]],
    ['4 MB', () => [largePost(), large, ignored()], 'closed', [413], 5],
    ['a wrong key', () => [refused() + oneList()], 'kept', [401, 200]],
    [
      'a wrong key behind a create',
      () => [post('a') + refused() + oneList()],
      'kept',
      [201, 401, 200],
    ],
    [
      'a wrong key with a body in chunks',
      () => [refused().replace(/Content-Length[^]*/, inChunks) + oneList()],
      'kept',
      [401, 200],
    ],
  ];
  for (const [what, pieces, ending, statuses, rounds = 1] of exchanges) {
    test(`after ${what} the connection is ${ending}, and only what came before it was handled`, async () => {
      const responsesMax = ending === 'kept' ? { responsesMax: statuses.length } : {};
      for (let round = 0; round < rounds; round += 1) {
        const options = { ...responsesMax, end: ending === 'half-closed' };
        const responses = parseResponses(await exchange(port, pieces(), options));
        const received = responses.map(({ status }) => status);
        assert.deepEqual(received, statuses, `round ${round}`);
        const isLast = /^connection: close$/im.test(responses.at(-1)?.head ?? '');
        if (ending !== 'half-closed') assert.equal(isLast, ending === 'closed');
      }
      assert.ok(!(await names()).includes('ignored'));
    });
  }

  test('invalid bytes after requests get one Error after the responses of the requests, also if there are many', async () => {
    const garbage = Array.from({ length: 30 }, () => `garbage\r\n\r\n${'x'.repeat(1000)}`);
    const received = exchangeSlowly(port, [post('before-garbage'), ...garbage]);
    const responses = parseResponses(await received);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [201, 400],
    );
    await sleep(0);
    assert.deepEqual(warnings, []);
  });

  test('a request before one with a malformed body gets its own response', async () => {
    const broken = `${get('/v1/pets', 'Transfer-Encoding: chunked')}0;${'x'.repeat(20_000)}\r\n\r\n`;
    const requests = get('/v1/pets?limit=1') + post('before-1') + post('before-2') + broken;
    const responses = parseResponses(await exchange(port, [requests], { end: true }));
    assert.deepEqual(
      responses.slice(0, 3).map(({ status }) => status),
      [200, 201, 201],
    );
    assert.deepEqual((await names()).slice(-2), ['before-1', 'before-2']);
  });

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

  test('a target that is too long is 414, whether or not its packet has the whole head', async () => {
    for (const length of [8_300, 15_000, 17_000, 40_000]) {
      const whole = get(`/v1/pets?x=${'a'.repeat(length)}`);
      for (const bytes of [whole, whole.slice(0, whole.indexOf('\r\n'))]) {
        if (bytes.length < 16 * 1024 && bytes !== whole) continue;
        const [response] = parseResponses(await exchange(port, [bytes], { responsesMax: 1 }));
        assert.equal(response?.status, 414, `${length} characters, ${bytes.length} bytes`);
      }
    }
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

/** Sends the pieces with pauses, so that they arrive one by one, and returns what was received until the close. */
async function exchangeSlowly(port: number, pieces: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  const closed = new Promise((resolve) => {
    socket.on('close', resolve);
    socket.on('error', resolve);
  });
  for (const piece of pieces) {
    if (!socket.destroyed) socket.write(piece);
    await sleep(5);
  }
  await closed;
  return received;
}

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
  'clients that pipeline and never read use little memory, and other clients get responses',
  { skip: NEEDS_LINUX },
  async (t) => {
    const service = await serve(t, ['--data', temporaryFolder(t)]);
    const headers = { authorization: `Bearer ${service.key}` };
    const port = Number(new URL(service.baseUrl).port);
    const name = '\u{1F431}'.repeat(255);
    const body = JSON.stringify({ name, categoryId: 1 });
    for (let created = 0; created < 100; created += 1) {
      await send(`${service.baseUrl}/pets`, { method: 'POST', headers, body });
    }
    const residentMiB = () => {
      const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    };
    const list = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;
    const document = 'GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n';
    // The first use of each part needs memory too, so it happens before the measurement.
    await exchange(port, [list + document], { responsesMax: 2 });
    const beforeMiB = residentMiB();
    const flood = Buffer.from((list + document).repeat(1_500));
    const sockets: Socket[] = Array.from({ length: 20 }, () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.pause();
      socket.write(flood);
      return socket;
    });
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    let peakMiB = 0;
    for (let sample = 0; sample < 15; sample += 1) {
      await sleep(100);
      peakMiB = Math.max(peakMiB, residentMiB());
      const live = await send(`${new URL(service.baseUrl).origin}/livez`);
      assert.equal(live.status, 200);
    }
    assert.ok(peakMiB - beforeMiB < 150, `${Math.round(peakMiB - beforeMiB)} MiB more`);
  },
);

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
