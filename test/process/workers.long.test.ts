// Several worker processes on one port.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { exchange, parseResponses } from '../../harness/raw-socket.ts';
import { send } from '../../harness/test-service.ts';
import { refusalIn, run, runHere } from '../../harness/command.ts';
import { type ServiceProcess, serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const WORKERS = 2;
const CONNECTIONS = 16;
const LIMIT = 200;
/** Between two requests of a client: the service must be in use, not busy. */
const PAUSE_MS = 5;

const READY = 'GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n';
/** By how much one worker stops later: less than the second for which a worker keeps its clients. */
const LATE_MS = 300;
/** By then a service that was told to stop has stopped, also on a busy machine. */
const STOP_MS_MAX = 30_000;

/** The processes that the primary has started. */
function workersOf({ pid }: ServiceProcess): number[] {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];
  return pids.map(Number);
}

/** Sends one request on a keep-alive connection. A connection without a response is a failure. */
function get(url: string, key: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(url, { agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

// One service for all of them, because each of its processes costs more than what is tested.
test('Workers', { skip: NEEDS_LINUX }, async (t) => {
  const data = temporaryFolder(t);
  const flags = ['--data', data, '--workers', String(WORKERS), '--admin-port', '0'];
  const service = await serve(t, flags);
  const headers = { authorization: `Bearer ${service.key}` };

  await t.test('workers share one address, one first key and one store', async () => {
    assert.match(service.key, /^pet_live_/);
    assert.equal(service.stdout(), `${service.key}\n`);
    assert.equal(workersOf(service).length, WORKERS);
    const body = '{"name":"Rex","categoryId":1}';
    for (let index = 1; index <= 20; index += 1) {
      const created = await send(`${service.baseUrl}/pets`, { method: 'POST', headers, body });
      assert.equal(created.status, 201);
      const found = await send(`${service.baseUrl}/pets/${index}`, { headers });
      assert.equal(found.text, created.text, 'every worker must know the animal');
      const page = await send(`${service.baseUrl}/pets?limit=100`, { headers });
      assert.equal((page.json() as unknown[]).length, index, 'no page may be stale');
    }
  });

  await t.test('each worker has an admin port of its own, with its own metrics', async () => {
    const urls = await service.workerAdminUrls(WORKERS);
    for (const url of urls) {
      assert.equal((await send(`${url}/readyz`)).status, 200);
      assert.match((await send(`${url}/metrics`)).text, /^petstore_api_keys 1$/m);
      assert.match((await send(`${url}/`)).text, /This worker is ready/);
    }
    const [created, listed] = await Promise.all([
      sumOf(service, 'petstore_pets_created_total'),
      sumOf(service, 'petstore_request_duration_seconds_count{operation="listPets",status="200"}'),
    ]);
    assert.deepEqual([created, listed], [20, 20]);
  });

  await t.test('a revoked key is refused by every worker within 5 seconds', () =>
    assertRevoked(service, data),
  );

  await t.test(
    'a worker that dies is started again after a second, and the others keep serving',
    async () => {
      const [victim = 0] = workersOf(service);
      const killedMs = performance.now();
      process.kill(victim, 'SIGKILL');
      await until('the killed worker must be gone', () => !workersOf(service).includes(victim));
      assert.equal((await send(`${service.baseUrl}/pets`, { headers })).status, 200);
      await untilComplete(service);
      assert.ok(performance.now() - killedMs >= 1_000, 'not at once');
      assert.equal(service.countLogLines('"msg":"a worker ended"'), 1);
    },
  );

  await t.test('SIGHUP replaces all workers one by one without a failed request', async () => {
    await assertResponsesWhileReplacing(service);
    assert.equal(service.countLogLines('"msg":"a worker ended"'), 1, 'a planned end is no crash');
  });

  await t.test(
    'every client that connects while a worker dies gets a response or a closed connection',
    () => assertResponsesWhileKilling(service),
  );

  await t.test(
    'SIGTERM during a rolling restart stops every worker, including one that is starting, with exit code 0',
    async () => {
      await untilReplacing(service);
      service.signal('SIGTERM');
      const stillServes = sleep(STOP_MS_MAX, 'it still serves', { ref: false });
      assert.equal(await Promise.race([service.ended, stillServes]), 0);
      assert.match(service.stderr(), /"msg":"replacing the workers one by one"/);
      assert.match(service.stderr(), /"signal":"SIGTERM","msg":"stopping"[^]*"msg":"stopped"/);
    },
  );
});

/**
 * Connects again and again while workers are killed. A client that waits for 20 seconds fails, and so does one that gets
 * another response than the list.
 */
async function assertResponsesWhileKilling(service: ServiceProcess): Promise<void> {
  const port = Number(new URL(service.baseUrl).port);
  const list = `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;
  const load = { isOver: false };
  let responses = 0;
  const client = async () => {
    while (!load.isOver) {
      const [response] = parseResponses(await exchange(port, [list], { responsesMax: 1 }));
      if (response !== undefined) {
        assert.equal(response.status, 200, response.body);
        responses += 1;
      }
      await sleep(PAUSE_MS);
    }
  };
  const clients = Promise.all(Array.from({ length: 2 * CONNECTIONS }, client));
  const killAll = async () => {
    for (let kills = 0; kills < 3; kills += 1) {
      await untilComplete(service);
      process.kill(workersOf(service)[0] ?? 0, 'SIGKILL');
      await sleep(200);
    }
    load.isOver = true;
  };
  await Promise.all([clients, killAll()]);
  assert.ok(responses > 0, 'no client got a response');
}

async function assertResponsesWhileReplacing(service: ServiceProcess): Promise<void> {
  const old = workersOf(service);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const load = { isOver: false };
  const statuses = new Map<number | string, number>();
  const client = async () => {
    while (!load.isOver) {
      const outcome = await get(`${service.baseUrl}/pets`, service.key, agent).catch(String);
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
      await sleep(PAUSE_MS);
    }
  };
  const clients = Array.from({ length: CONNECTIONS }, client);
  service.signal('SIGHUP');
  try {
    await until('all workers must be replaced', () =>
      /all workers were replaced/.test(service.stderr()),
    );
  } finally {
    load.isOver = true;
    await Promise.all(clients);
    agent.destroy();
  }
  assert.deepEqual([...statuses.keys()], [200], JSON.stringify([...statuses]));
  assert.ok(workersOf(service).every((pid) => !old.includes(pid)));
}

async function assertRevoked(service: ServiceProcess, data: string): Promise<void> {
  const made = await runHere(['keys', 'create', '--name', 'shop', '--data', data]);
  const headers = { authorization: `Bearer ${made.stdout.trim()}` };
  const statusesNow = async () => {
    const responses = Array.from({ length: 4 * WORKERS }, () =>
      send(`${service.baseUrl}/pets`, { headers }),
    );
    return new Set((await Promise.all(responses)).map(({ status }) => status));
  };
  assert.deepEqual([...(await statusesNow())], [200]);
  const id =
    /(key_\w+) .* shop/.exec((await runHere(['keys', 'list', '--data', data])).stdout)?.[1] ?? '';
  await runHere(['keys', 'revoke', id, '--data', data]);
  const revokedMs = performance.now();
  // On a busy machine a worker may not have read the keys again; it then responds with 503.
  await until('every worker must respond with 401', async () => {
    const sentMs = performance.now();
    const statuses = await statusesNow();
    assert.ok(!statuses.has(200) || sentMs < revokedMs + 5_000);
    return statuses.size === 1 && statuses.has(401);
  });
}

/** Resolves when all workers listen: one that ends before would end the service. */
async function untilComplete(service: ServiceProcess): Promise<void> {
  const listens = (pid: number) => service.countLogLines(`:${pid}","worker":`) > 0;
  await until(
    'all workers must listen',
    () => workersOf(service).filter(listens).length === WORKERS,
  );
}

/** Resolves when an old worker has ended and its successor starts. SIGHUP is ignored while a worker is started again. */
async function untilReplacing(service: ServiceProcess): Promise<void> {
  // A worker that was killed and is started again is no new one.
  await untilComplete(service);
  const old = workersOf(service);
  await until('a new worker must be starting', () => {
    service.signal('SIGHUP');
    return workersOf(service).some((pid) => !old.includes(pid));
  });
}

/** The sum of a series over all workers. */
async function sumOf(service: ServiceProcess, series: string): Promise<number> {
  const urls = await service.workerAdminUrls(WORKERS);
  const texts = await Promise.all(urls.map(async (url) => (await send(`${url}/metrics`)).text));
  const lines = texts.flatMap((text) => text.split('\n').filter((line) => line.startsWith(series)));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

test(
  'a client that a stopping worker disconnects is refused, also if another worker stops later',
  { skip: NEEDS_LINUX },
  async (t) => {
    const flags = ['--data', temporaryFolder(t), '--workers', String(WORKERS)];
    const service = await serve(t, flags);
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(service.port, '127.0.0.1'));
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(READY);
      await once(socket, 'data');
    }
    const disconnected = Promise.race(sockets.map((socket) => once(socket, 'close')));
    const [late = 0] = workersOf(service);
    process.kill(late, 'SIGSTOP');
    service.signal('SIGTERM');
    setTimeout(() => process.kill(late, 'SIGCONT'), LATE_MS);
    const sending = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(READY);
    }, PAUSE_MS);
    t.after(() => clearInterval(sending));
    await disconnected;
    const again = connect(service.port, '127.0.0.1');
    await assert.rejects(once(again, 'connect'), { code: 'ECONNREFUSED' });
    assert.equal(await service.ended, 0);
  },
);

test('workers divide a rate limit, and the policy shows the share', async (t) => {
  const flags = ['--workers', String(WORKERS), '--rate-limit', `${LIMIT + 1}/3600s`];
  const service = await serve(t, ['--data', temporaryFolder(t), ...flags]);
  const headers = { authorization: `Bearer ${service.key}` };
  const policy = `"default";q=${LIMIT / WORKERS};w=3600`;
  let accepted = 0;
  const list = () => send(`${service.baseUrl}/pets`, { headers });
  const sendSome = async () => {
    for (const { status, headers: received } of await Promise.all(
      Array.from({ length: 8 }, list),
    )) {
      assert.ok(status === 200 || status === 429, `the status is ${status}`);
      assert.equal(received['ratelimit-policy'], policy);
      if (status === 200) accepted += 1;
    }
    return accepted >= LIMIT;
  };
  // Connections are not shared out evenly, so one worker refuses requests before the other one does.
  await until('both shares must be used', sendSome);
  for (let sent = 0; sent < 5; sent += 1) await sendSome();
  assert.equal(accepted, LIMIT);
});

test('a rate limit of which a worker would get no share, and admin ports beyond the last one are refused', async (t) => {
  const data = temporaryFolder(t);
  for (const [flags, line] of [
    [
      ['--rate-limit', '3/60s'],
      /--rate-limit \(PETSTORE_RATE_LIMIT\) is 3\/60s, of which each of 4 workers has a share: it must be at least 4\/60s\./,
    ],
    [
      ['--admin-port', '65533'],
      /--admin-port is 65533, and 4 workers .* it must be at most 65532\./,
    ],
    [
      ['--admin-port', '9464', '--port', '9467'],
      /--port is 9467, and the admin ports of 4 workers are 9464 to 9467: it must be another one\./,
    ],
  ] as const) {
    const { code, stderr } = await runHere(['serve', '--data', data, '--workers', '4', ...flags]);
    assert.match(stderr, line);
    assert.equal(code, 2);
  }
});

test('an error that stops every worker is printed once, with exit code 2, and creates no key that nobody sees', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const port = String((taken.address() as AddressInfo).port);
  const flags = ['--data', temporaryFolder(t), '--workers', '2', '--admin-port', 'off'];
  const { code, stdout, stderr } = await run(['serve', ...flags, '--port', port]);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(refusalIn(stderr), new RegExp(`^petstore: [^\\n]*${port}[^\\n]*\\n$`));
  const next = await serve(t, flags);
  assert.match(next.key, /^pet_live_/);
});
