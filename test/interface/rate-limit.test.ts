// The rate limit when the clock changes, a process is suspended or dies, or a client aborts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { runHere } from '../../harness/command.ts';
import { serve, type ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';
import {
  send,
  sqliteStorage,
  startTestService,
  type Received,
} from '../../harness/test-service.ts';

const ABORTS = 200;
const LIMIT = 20;
const WAITING = 15;
const CONNECTIONS = 64;
const DAY_MS = 86_400_000;

async function serveWithWorkers(
  t: TestContext,
  data: string,
  rateLimit: string,
): Promise<ServiceProcess> {
  const flags = ['--workers', '2', '--rate-limit', rateLimit, '--admin-port', '0'];
  const service = await serve(t, ['--data', data, ...flags]);
  // A suspended process does not react to signals, so it could not be stopped.
  t.after(() => service.signal('SIGCONT'));
  return service;
}

type Target = Pick<ServiceProcess, 'baseUrl' | 'key'>;

const list = (service: Target, agent: Agent) => get(service, agent, '/v1/pets');

/** Sends one request on a connection that stays open. */
function get(
  service: Target,
  agent: Agent,
  path: string,
): Promise<Pick<Received, 'status' | 'text'>> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${service.key}` };
    const sent = request(new URL(path, service.baseUrl), { agent, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

for (const days of [-400, 400]) {
  test(`a clock change of ${days} days affects neither the rate limit nor Retry-After`, async (t) => {
    const now = Date.now();
    t.mock.timers.enable({ apis: ['Date'], now });
    const service = await startTestService(sqliteStorage, { flags: ['--rate-limit', '1/600s'] });
    t.after(() => service.close());
    assert.equal((await service.send('/pets')).status, 200);
    t.mock.timers.setTime(now + days * DAY_MS);
    const over = await service.send('/pets');
    assert.equal(over.status, 429);
    const seconds = Number(over.headers['retry-after']);
    assert.ok(seconds > 0 && seconds <= 600, `Retry-After: ${seconds}`);
  });
}

test('a key can send requests again in the next window of its rate limit', async (t) => {
  const service = await startTestService(sqliteStorage, { flags: ['--rate-limit', '1/1s'] });
  t.after(() => service.close());
  await service.send('/pets');
  await until(
    'the next window must begin',
    async () => (await service.send('/pets')).status === 200,
  );
});

/** With a limit of which every portion is one request, so that every request asks the primary. */
test('Workers and a small rate limit', async (t) => {
  const data = temporaryFolder(t);
  const service = await serveWithWorkers(t, data, `${LIMIT}/3600s`);

  await t.test(
    'rate limit: a worker responds with 503 unavailable while its primary is suspended, and with 200 afterwards',
    async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      assert.equal((await list(service, agent)).status, 200);
      service.signal('SIGSTOP');
      await until('requests must be refused', async () => {
        const { status, text } = await list(service, agent);
        return status === 503 && (JSON.parse(text) as { code: string }).code === 'unavailable';
      });
      service.signal('SIGCONT');
      await until(
        'requests must be counted again',
        async () => (await list(service, agent)).status === 200,
      );
      agent.destroy();
    },
  );

  await t.test(
    'rate limit: requests that wait one after the other for a suspended primary are all counted when it continues',
    async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: WAITING });
      const made = await runHere(['keys', 'create', '--name', 'other', '--data', data]);
      // A key of its own, of which nothing was counted.
      const other = { baseUrl: service.baseUrl, key: made.stdout.trim() };
      assert.equal((await list(other, agent)).status, 200);
      service.signal('SIGSTOP');
      const waiting: ReturnType<typeof list>[] = [];
      for (let index = 0; index < WAITING; index += 1) {
        waiting.push(list(other, agent));
        await sleep(10);
      }
      service.signal('SIGCONT');
      for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
      for (let used = 1 + WAITING; used < LIMIT; used += 1) {
        assert.equal((await list(other, agent)).status, 200);
      }
      assert.equal((await list(other, agent)).status, 429);
      agent.destroy();
    },
  );
});

test('Workers and a large rate limit', { skip: NEEDS_LINUX }, async (t) => {
  const service = await serveWithWorkers(t, temporaryFolder(t), '100000/60s');

  await t.test(
    'rate limit: a worker that dies while it waits for a portion does not stop the primary',
    async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
      const all = (path: string) =>
        Array.from({ length: CONNECTIONS }, () => get(service, agent, path));
      // Opens connections to both workers, and takes no portion.
      await Promise.all(all('/livez'));
      service.signal('SIGSTOP');
      const unanswered = Promise.allSettled(all('/v1/pets'));
      await sleep(200);
      const children = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8');
      process.kill(Number.parseInt(children, 10), 'SIGKILL');
      await sleep(200);
      service.signal('SIGCONT');
      await unanswered;
      agent.destroy();
      const headers = { authorization: `Bearer ${service.key}` };
      assert.equal((await send(`${service.baseUrl}/pets`, { headers })).status, 200);
      await until('the primary must log the death of the worker', () =>
        /"msg":"a worker died"/.test(service.stderr()),
      );
    },
  );

  await t.test(
    'rate limit: a worker that has a portion serves it while its primary is suspended',
    async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      assert.equal((await list(service, agent)).status, 200);
      service.signal('SIGSTOP');
      // The connection stays at one worker, whose portion is a twentieth.
      for (let used = 1; used < 20; used += 1) {
        assert.equal((await list(service, agent)).status, 200);
      }
      service.signal('SIGCONT');
      agent.destroy();
    },
  );

  await t.test('no request stays in flight when clients abort their bodies', () =>
    assertAborted(service),
  );
});

async function assertAborted(service: ServiceProcess): Promise<void> {
  const { port } = new URL(service.baseUrl);
  const head = [
    'POST /v1/pets HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${service.key}`,
    'Content-Length: 100',
  ];
  for (let index = 0; index < ABORTS; index += 1) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(`${head.join('\r\n')}\r\n\r\n{"name":`, () => socket.destroy());
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
    });
  }
  await until('no request may stay in flight', async () => {
    const { text } = await send(`${service.adminUrl}/metrics`);
    return /^petstore_requests_in_flight 0$/m.test(text);
  });
}
