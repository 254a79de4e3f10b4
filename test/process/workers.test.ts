// Several worker processes on one port.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
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

  await t.test('the metrics of the primary are the sum over all workers', async () => {
    const { adminUrl } = service;
    assert.equal((await send(`${adminUrl}/readyz`)).status, 200);
    const { text } = await send(`${adminUrl}/metrics`);
    assert.match(
      text,
      /petstore_request_duration_seconds_count\{operation="listPets",status="200"\} 20\n/,
    );
    // Every worker has the same keys and the same file: their figures are not added up.
    assert.match(text, /^petstore_api_keys 1$/m);
    assert.match(text, /^petstore_build_info\{version="[\d.]+",node="[\d.]+"\} 1$/m);
    assert.match(text, /^petstore_wal_size_bytes \d+$/m);
    const page = await send(`${adminUrl}/`);
    assert.match(page.text, /Node\.js \d+/);
    assert.match(page.text, /1, read [\d.]+ s ago/);
  });

  await t.test('/metrics has the last report of a worker that does not respond', async () => {
    assert.equal(await petsCreated(service), 20);
    const [silent = 0] = workersOf(service);
    process.kill(silent, 'SIGSTOP');
    try {
      assert.equal(await petsCreated(service), 20);
      assert.equal((await send(`${service.adminUrl}/livez`)).status, 200);
    } finally {
      process.kill(silent, 'SIGCONT');
    }
  });

  await t.test('a revoked key is refused by every worker within 5 seconds', () =>
    assertRevoked(service, data),
  );

  await t.test(
    'a worker that dies is replaced, the others keep serving, and no counter decreases',
    async () => {
      const [victim = 0] = workersOf(service);
      process.kill(victim, 'SIGKILL');
      await until('the killed worker must be gone', () => !workersOf(service).includes(victim));
      assert.equal((await send(`${service.baseUrl}/pets`, { headers })).status, 200);
      assert.equal(await petsCreated(service), 20);
      await untilComplete(service);
      assert.match(service.stderr(), /"msg":"a worker died"/);
    },
  );

  await t.test(
    'SIGHUP replaces all workers one by one without a failed request, and no counter decreases',
    async () => {
      await untilComplete(service);
      await assertResponsesWhileReplacing(service);
      await createPets(service, 5);
      await until('all animals must be counted', async () => (await petsCreated(service)) === 25);
    },
  );

  await t.test(
    'every client that connects while a worker dies gets a response or a closed connection',
    () => assertResponsesWhileKilling(service),
  );

  await t.test('/metrics does not wait for a worker that is starting', async () => {
    await untilReplacing(service);
    assert.equal(await petsCreated(service), 25);
  });

  await t.test(
    'SIGTERM during a rolling restart stops every worker, including one that is starting, with exit code 0',
    async () => {
      await untilReplacing(service);
      service.signal('SIGTERM');
      assert.equal(await service.ended, 0);
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
    /(key_\w+)\s+shop/.exec((await runHere(['keys', 'list', '--data', data])).stdout)?.[1] ?? '';
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

async function untilComplete(service: ServiceProcess): Promise<void> {
  await until('all workers must run', () => workersOf(service).length === WORKERS);
}

/** Resolves while a third worker is starting. SIGHUP is repeated, because a busy machine may miss the first. */
async function untilReplacing(service: ServiceProcess): Promise<void> {
  await until('a new worker must be starting', () => {
    service.signal('SIGHUP');
    return workersOf(service).length === 3;
  });
}

async function createPets({ baseUrl, key }: ServiceProcess, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const body = '{"name":"Rex","categoryId":1}';
  for (let index = 0; index < count; index += 1) {
    assert.equal((await send(`${baseUrl}/pets`, { method: 'POST', headers, body })).status, 201);
  }
}

async function petsCreated(service: ServiceProcess): Promise<number> {
  const { status, text } = await send(`${service.adminUrl}/metrics`);
  assert.equal(status, 200, text);
  return Number(/^petstore_pets_created_total (\d+)$/m.exec(text)?.[1]);
}

test('workers never exceed a rate limit together, and each leaves at most 5 % of it', async (t) => {
  const flags = ['--workers', String(WORKERS), '--rate-limit', `${LIMIT}/3600s`];
  const service = await serve(t, ['--data', temporaryFolder(t), ...flags]);
  const headers = { authorization: `Bearer ${service.key}` };
  let accepted = 0;
  for (let sent = 0; sent < 2 * LIMIT; sent += 1) {
    const { status } = await send(`${service.baseUrl}/pets`, { headers });
    assert.ok(status === 200 || status === 429, `the status is ${status}`);
    if (status === 200) accepted += 1;
  }
  assert.ok(accepted <= LIMIT && accepted >= LIMIT * (1 - WORKERS * 0.05), `${accepted} accepted`);
});

test('an error that stops every worker is printed once, with exit code 2', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const port = String((taken.address() as AddressInfo).port);
  const flags = [
    '--data',
    temporaryFolder(t),
    '--workers',
    '2',
    '--port',
    port,
    '--admin-port',
    'off',
  ];
  const { code, stderr } = await run(['serve', ...flags]);
  assert.equal(code, 2);
  assert.match(refusalIn(stderr), new RegExp(`^petstore: [^\\n]*${port}[^\\n]*\\n$`));
});
