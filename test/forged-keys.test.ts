// The checksum of a key is public, so anyone can send well-formed keys that do not exist.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../src/domain/api-key.ts';
import { PostgresServer } from './postgres-server.ts';
import { run, serve } from './test-process.ts';
import { send } from './test-service.ts';

const CONNECTIONS = 20;
const PIPELINED = 50;
const REAL_REQUESTS = 20;
const LOG_LINES_MAX = 50;
/** 100 lookups per refresh, which is every 2 seconds, and the same number for all other queries. */
const QUERIES_PER_SECOND_MAX = 100;
const QUERIES_MORE_MAX = 400;

/** Sends forged keys on many connections, with many pipelined requests on each, until it is stopped. */
function attack(t: TestContext, port: number) {
  const statuses = new Map<string, number>();
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(port, '127.0.0.1');
    let unanswered = 0;
    const sendMore = () => {
      let requests = '';
      for (; unanswered < PIPELINED; unanswered += 1) {
        const forged = newSecret('production', randomBytes);
        requests += `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${forged}\r\n\r\n`;
      }
      socket.write(requests);
    };
    socket.on('connect', sendMore);
    socket.on('data', (chunk) => {
      for (const [, status = ''] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        unanswered -= 1;
      }
      if (unanswered < PIPELINED / 2) sendMore();
    });
    socket.on('error', () => undefined);
    return socket;
  });
  const stop = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(stop);
  return { statuses, stop };
}

test('forged keys on PostgreSQL cause few queries and log lines, and valid keys get their responses', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const database = await server.createDatabase();
  const flags = ['--database', server.url(database)];
  const service = await serve(t, flags);
  const url = `${service.baseUrl}/pets`;
  const startedMs = performance.now();
  const { statuses, stop } = attack(t, Number(new URL(url).port));
  while (statuses.size === 0) await sleep(20);

  const real = { headers: { authorization: `Bearer ${service.key}` } };
  const seen: number[] = [];
  for (let index = 0; index < REAL_REQUESTS; index += 1) {
    seen.push((await send(`${url}?limit=${index + 1}`, real)).status);
    await sleep(50);
  }
  assert.deepEqual(seen, Array<number>(REAL_REQUESTS).fill(200));

  const made = await run(['keys', 'create', '--name', 'new', ...flags]);
  const recent = { headers: { authorization: `Bearer ${made.stdout.trim()}` } };
  let { status } = await send(url, recent);
  for (; status === 503; { status } = await send(url, recent)) await sleep(200);
  assert.equal(
    status,
    200,
    'a key that is created during the attack waits or gets 503, but never 401',
  );
  stop();

  const seconds = (performance.now() - startedMs) / 1000;
  const lines = service.stderr().split('\n').length;
  // A session reports its transactions when it is idle or ends.
  service.kill('SIGTERM');
  await service.ended;
  const count = `SELECT xact_commit::int FROM pg_stat_database WHERE datname = '${database}'`;
  const queries = Number((await server.query(count))[0]?.[0]);
  t.diagnostic(
    `${seconds} s, ${queries} queries, ${lines} log lines, ${JSON.stringify([...statuses])}`,
  );
  assert.ok(queries < seconds * QUERIES_PER_SECOND_MAX + QUERIES_MORE_MAX, `${queries} queries`);
  assert.ok(lines < LOG_LINES_MAX, `${lines} log lines`);
});
