// The checksum of a key is public, so anyone can send well-formed keys that do not exist.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { runHere } from '../../harness/command.ts';
import { type ServiceProcess, serve } from '../../harness/service-process.ts';
import { send } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';

const CONNECTIONS = 200;
const PIPELINED = 50;
const REAL_REQUESTS = 20;
const LOG_LINES_MAX = 50;
const KEYS = 10_000;
/** At most 10 reads of the keys, and those that real requests cause. */
const QUERIES_PER_SECOND_MAX = 12;
const QUERIES_MORE_MAX = 60;

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

/** Uses known and new keys while forged ones arrive. Returns the seconds that it took. */
async function useDuringAttack(
  t: TestContext,
  service: ServiceProcess,
  flags: string[],
): Promise<number> {
  const url = `${service.baseUrl}/pets`;
  const startedMs = performance.now();
  const { statuses, stop } = attack(t, Number(new URL(url).port));
  await until('one has a response', () => statuses.size > 0);

  const real = { headers: { authorization: `Bearer ${service.key}` } };
  const seen: number[] = [];
  for (let index = 0; index < REAL_REQUESTS; index += 1) {
    seen.push((await send(`${url}?limit=${index + 1}`, real)).status);
    await sleep(50);
  }
  assert.deepEqual(seen, Array<number>(REAL_REQUESTS).fill(200));

  const made = await runHere(['keys', 'create', '--name', 'new', ...flags]);
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
  t.diagnostic(`${seconds.toFixed(1)} s, ${lines} log lines, ${JSON.stringify([...statuses])}`);
  assert.ok(lines < LOG_LINES_MAX, `${lines} log lines`);
  return seconds;
}

test('PostgreSQL with 10,000 keys: forged keys cause few queries and log lines, and valid keys get their responses', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const database = await server.createDatabase();
  const flags = ['--database', server.url(database)];
  const service = await serve(t, flags);
  await server.query(
    `INSERT INTO api_keys (id, hash, name, scopes, created_at)
     SELECT 'key_' || n, encode(sha256(n::text::bytea), 'hex'), 'shop', 'pets:read', n
     FROM generate_series(1, ${KEYS}) AS n`,
    database,
  );
  const seconds = await useDuringAttack(t, service, flags);
  // A session reports its transactions when it is idle or ends. An orderly end would wait for the requests in flight.
  service.signal('SIGKILL');
  await service.ended;
  await until('no session is left', async () => (await server.endSessions()) === 0);
  const count = `SELECT xact_commit::int FROM pg_stat_database WHERE datname = '${database}'`;
  const queries = Number((await server.query(count))[0]?.[0]);
  t.diagnostic(`${queries} queries`);
  assert.ok(queries < seconds * QUERIES_PER_SECOND_MAX + QUERIES_MORE_MAX, `${queries} queries`);
});
