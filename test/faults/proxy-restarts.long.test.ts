// Restarts behind the configurations in contrib/, while clients send over HTTP/1.1 and HTTP/2. No client sends again.

import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Creates } from '../../harness/creates.ts';
import { needsProgram } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { Proxy, PROXY_PROGRAMS, type ProxyProgram } from '../../harness/proxies.ts';
import { Http2Client, newHttp1Client } from '../../harness/proxy-clients.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';

const HTTP1_CLIENTS = 4;
/** Of each client, between two requests. */
const THINK_MS = 5;
/** Requests that an HTTP/2 connection carries at the same time. */
const HTTP2_STREAMS = 4;
const CREATE_EVERY = 4;
const RESTARTS = 2;
/** Caddy and HAProxy must see that the service that was restarted is ready. */
const PAUSE_MS = 3_000;
/** As in contrib/Caddyfile: within this time Caddy and HAProxy find out that a service is about to stop. */
const DRAIN = ['--drain-delay', '5'];
/** Longer than any of the proxies tries again. */
const AWAY_MS = 6_000;
const ROLLING_MS_MAX = 30_000;

// Each process and server listens for the end of this one.
process.setMaxListeners(40);

describe('restarts', { concurrency: true }, () => {
  for (const kind of PROXY_PROGRAMS) {
    const skip = needsProgram(kind.program);
    test(`behind ${kind.name}, a rolling restart fails no request`, { skip }, async (t) => {
      const flags = ['--workers', '2', '--log', 'info'];
      const service = await ServiceProcess.start({ flags });
      t.after(() => service.kill());
      const violations = await underLoad(t, kind, [service], async () => {
        const before = service.restarts();
        service.signal('SIGHUP');
        const isReplaced = () => service.restarts() > before;
        await until('the workers were not replaced', isReplaced, ROLLING_MS_MAX);
      });
      assert.deepEqual(violations, []);
    });

    test(
      `behind ${kind.name}, a restart of one of two services fails no request`,
      { skip },
      async (t) => {
        assert.deepEqual(await restartPlainly(t, kind, { instances: 2, awayMs: 0 }), []);
      },
    );
  }

  const kind = PROXY_PROGRAMS[0] as ProxyProgram;
  test(
    'behind a proxy, requests fail while the only service is away',
    { skip: needsProgram(kind.program) },
    async (t) => {
      const violations = await restartPlainly(t, kind, { instances: 1, awayMs: AWAY_MS });
      assert.match(String(violations), /failed/);
    },
  );
});

async function restartPlainly(
  t: TestContext,
  kind: ProxyProgram,
  { instances, awayMs }: { instances: number; awayMs: number },
): Promise<string[]> {
  const postgres = await PostgresServer.start();
  t.after(() => postgres.close());
  const database = postgres.url();
  const services = [await ServiceProcess.start({ database, flags: DRAIN })];
  t.after(() => Promise.all(services.map((service) => service.kill())));
  const { key } = services[0] as ServiceProcess;
  while (services.length < instances) {
    services.push(await ServiceProcess.start({ database, key, flags: DRAIN }));
  }
  return underLoad(t, kind, services, async (index) => {
    const service = services[index % instances] as ServiceProcess;
    assert.deepEqual(await service.stop(), []);
    await sleep(awayMs);
    const flags = [...DRAIN, '--port', String(service.port)];
    services[index % instances] = await ServiceProcess.start({ database, key, flags });
  });
}

/** Sends requests through the proxy during the restarts. Returns those that failed, and what is wrong afterwards. */
async function underLoad(
  t: TestContext,
  kind: ProxyProgram,
  services: readonly ServiceProcess[],
  restart: (index: number) => Promise<void>,
): Promise<string[]> {
  const { key, baseUrl } = services[0] as ServiceProcess;
  const ports = services.map(({ port }) => port);
  const proxy = await Proxy.configure(kind, ports);
  t.after(() => proxy.close());
  await proxy.start();
  const creates = new Creates();
  const over = new AbortController();
  let requests = 0;
  const http1 = Array.from({ length: HTTP1_CLIENTS }, () => newHttp1Client(proxy));
  const http2 = new Http2Client(proxy);
  const streams = Array.from({ length: HTTP2_STREAMS }, () => http2);
  const loading = [...http1, ...streams].map(async (client) => {
    while (!over.signal.aborted) {
      const isCreate = (requests += 1) % CREATE_EVERY === 0;
      const name = isCreate ? creates.begin() : '';
      const headers = { authorization: `Bearer ${key}` };
      const json = { ...headers, 'content-type': 'application/json', 'idempotency-key': name };
      const body = JSON.stringify({ name, categoryId: 1 });
      try {
        const { status, text } = isCreate
          ? await client.send('POST', json, body)
          : await client.send('GET', headers);
        assert.equal(status, isCreate ? 201 : 200, text);
        if (isCreate) creates.acknowledge(name, text);
      } catch (error) {
        creates.violations.push(
          `${isCreate ? `the create of ${name}` : 'a list'} failed: ${String(error)}`,
        );
      }
      await sleep(THINK_MS);
    }
  });
  for (let index = 0; index < RESTARTS; index += 1) {
    await sleep(PAUSE_MS);
    await restart(index);
  }
  await sleep(PAUSE_MS);
  over.abort();
  await Promise.all(loading);
  for (const client of [...http1, http2]) client.close();
  assert.ok(creates.acknowledged.size > 0);
  await creates.compare(baseUrl, key);
  return creates.violations;
}
