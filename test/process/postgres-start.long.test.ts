// How the service starts on PostgreSQL, also if the database is away.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { failureOf } from '../../src/cli/failure.ts';
import { newApiKey } from '../../src/domain/api-key.ts';
import { newIdempotencyClaim } from '../../src/domain/idempotency.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { verifyPostgres } from '../../src/storage/tools/postgres-verify.ts';
import { removePets, setStatus } from '../../harness/change-pets.ts';
import { freePort, freePortOfTwo } from '../../harness/free-port.ts';
import { PostgresServer, TEST_PASSWORD } from '../../harness/postgres-server.ts';
import { MAIN, runHere } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { send, startTestService, storageOf } from '../../harness/test-service.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { until } from '../../harness/until.ts';

const POLL_MS = 20;

const server = await PostgresServer.start();
after(() => server.close());

interface Starting {
  url: string;
  adminPort: string;
  adminUrl: string;
  stdout: () => string;
  stderr: () => string;
  /** Resolves when standard error contains the text. */
  shows(text: string): Promise<void>;
  kill: (signal: NodeJS.Signals) => void;
  ended: Promise<unknown[]>;
}

async function start(t: TestContext, database: string, workers: number): Promise<Starting> {
  const [port, adminPort] = [await freePort(), await freePortOfTwo()];
  const ports = ['--port', String(port), '--admin-port', String(adminPort)];
  const flags = ['--workers', String(workers)];
  const child = spawn(process.execPath, [MAIN, 'serve', ...ports, ...flags], {
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: database },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return {
    url: `http://127.0.0.1:${port}`,
    adminPort: String(adminPort),
    adminUrl: `http://127.0.0.1:${adminPort}`,
    stdout: () => stdout,
    stderr: () => stderr,
    async shows(text) {
      while (!stderr.includes(text)) {
        assert.equal(child.exitCode, null, stderr);
        await sleep(POLL_MS);
      }
    },
    kill: (signal) => child.kill(signal),
    ended: once(child, 'close'),
  };
}

const count = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].length;

for (const workers of [1, 2]) {
  test(`--workers ${workers}: a database that is away is waited for: alive on the admin port, then the first key`, async (t) => {
    const database = server.url(await server.createDatabase());
    await server.stop('fast');
    const service = await start(t, database, workers);
    await service.shows('"msg":"waiting for the database"');
    await assert.rejects(send(`${service.url}/livez`), { code: 'ECONNREFUSED' });
    assert.equal((await send(`${service.adminUrl}/livez`)).status, 200);
    assert.equal((await send(`${service.adminUrl}/readyz`)).status, 503);
    assert.equal((await runHere(['health', '--live', '--admin-port', service.adminPort])).code, 0);
    service.kill('SIGHUP');
    await sleep(1_500);
    const lines =
      /"reason":"the database cannot be used: connection refused at .*"msg":"waiting for/g;
    assert.equal(count(service.stderr(), lines), 1, 'one line per reason');

    await server.start();
    await service.shows('"msg":"started"');
    const [key = ''] = /pet_live_\w{36}/.exec(service.stdout()) ?? [];
    const headers = { authorization: `Bearer ${key}` };
    assert.equal((await send(`${service.url}/v1/pets`, { headers })).status, 200);
    assert.equal((await send(`${service.url}/readyz`)).status, 200);
    const monitor = await send(`${service.adminUrl}/`);
    assert.match(monitor.text, /<dd>PostgreSQL<\/dd>/);
    assert.ok(!monitor.text.includes(TEST_PASSWORD), 'the monitor must not show the password');
    if (workers > 1) {
      const title = 'a worker that waits for the database is no crash, and serves when it is there';
      await t.test(title, () => assertReplaced(service));
    }
    service.kill('SIGTERM');
    assert.deepEqual(await service.ended, [0, null]);
  });
}

/** Stops the database, and starts it again when a new worker waits for it. */
async function assertReplaced(service: Starting): Promise<void> {
  const shownBefore = service.stderr().length;
  const showsNow = (text: string) =>
    until(text, () => service.stderr().includes(text, shownBefore));
  await server.stop('fast');
  service.kill('SIGHUP');
  await showsNow('"msg":"waiting for the database"');
  await server.start();
  await showsNow('"msg":"all workers were replaced"');
  assert.doesNotMatch(service.stderr(), /a worker died/);
  assert.equal((await send(`${service.url}/readyz`)).status, 200);
}

test('SIGTERM ends the wait for a database with exit code 0, also with workers', async (t) => {
  for (const workers of [1, 2]) {
    const service = await start(t, 'postgres://petstore@127.0.0.1:1/pets', workers);
    await service.shows('"msg":"waiting for the database"');
    service.kill('SIGTERM');
    assert.deepEqual(await service.ended, [0, null]);
    assert.match(service.stderr(), /"msg":"stopped"/);
  }
});

test('a wrong setting of the database ends the start at once with one line and exit code 2', async () => {
  const refused: [url: string, line: RegExp][] = [
    [server.url('postgres', 'wrong-password'), /does not let the user petstore in/],
    [server.url('nothing_here'), /has no database nothing_here/],
    [`${server.url()}?sslmode=require`, /does not offer TLS/],
  ];
  for (const [database, line] of refused) {
    const started = startTestService(storageOf('--database', database));
    const failure = failureOf(await started.catch((error: unknown) => error));
    assert.match(failure?.line ?? '', line);
    assert.doesNotMatch(failure?.line ?? '', /\n/);
    assert.equal(failure?.exitCode, 2);
  }
});

test('a start warns once that nobody has chosen the plain text to another machine', async (t) => {
  for (const [query, warnings] of [
    ['', 1],
    ['?sslmode=disable', 0],
  ] as const) {
    const service = await start(t, `postgres://petstore@database.invalid/pets${query}`, 1);
    await service.shows('"msg":"waiting for the database"');
    service.kill('SIGTERM');
    await service.ended;
    const lines = service.stderr().split('\n');
    assert.equal(lines.filter((line) => line.includes('in plain text')).length, warnings);
  }
});

test('other commands do not wait for a database that is away: one line and exit code 1', async () => {
  const away = ['--database', 'postgres://petstore@127.0.0.1:1/pets'];
  const { code, stderr } = await runHere(['keys', 'list', ...away]);
  assert.match(stderr, /^petstore: the database cannot be used: connection refused [^\n]+\n$/);
  assert.equal(code, 1);
});

const readPage = (name: string) =>
  readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('a role with only the documented GRANTs can do all that the service and the commands do', async (t) => {
  const [, grants = ''] = /^```sql\n([^`]+)^```$/m.exec(readPage('postgresql.md')) ?? [];
  const database = await server.createDatabase();
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
  await server.query(`CREATE ROLE petstore_rows LOGIN PASSWORD '${TEST_PASSWORD}'`);
  await server.query(`REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`);
  await server.query(grants.replace('DATABASE petstore', `DATABASE ${database}`), database);
  const url = server.url(database).replace('petstore:', 'petstore_rows:');
  const store = await openPostgresStore(url, NEW_STORE);
  t.after(() => store.close());

  const now = new Date();
  const keyOf = (secret: string) => newApiKey({ secret, name: secret, now, randomBytes });
  const [first, second, third] = [keyOf('first'), keyOf('second'), keyOf('third')];
  assert.ok(await store.createFirstApiKey(first));
  await store.createApiKey(second);
  assert.ok(await store.rotateApiKey(second.id, new Date(now.getTime() + 1_000), third));
  assert.ok(await store.revokeApiKey(third.id, now));
  await store.recordKeyUse(new Map([[first.id, { usedAt: now, deprecatedCallAt: now }]]));

  const pet = { name: 'Rex', categoryId: 1n, status: 'available' } as const;
  const claim = newIdempotencyClaim('a', pet, { apiKeyId: first.id, now });
  assert.equal((await store.createPet(pet)).kind, 'created');
  assert.equal((await store.createPet(pet, claim)).kind, 'created');
  const progress = { source: 'file', position: 10, lines: 1, imported: 1, skipped: 0 };
  assert.ok(await store.importPets([pet], { from: 0, to: progress }));
  assert.deepEqual(await store.findImport('file'), progress);
  await setStatus(store, [1n], 'sold');
  await removePets(store, [1n]);
  const portion = await store.portions?.({ requests: 100, windowSeconds: 60 })(first.id);
  assert.equal(portion?.requests, 5);
  assert.deepEqual((await verifyPostgres(url)).problems, []);
});

test('the documented command for the permission model of Node.js serves requests', async (t) => {
  const page = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
  const [, flags = ''] = /^node (--permission .*) bin\/petstore\.js serve$/m.exec(page) ?? [];
  const cwd = dirname(dirname(MAIN));
  const options = flags.replaceAll('"$PWD"', cwd).split(' ');
  const command: [string, ...string[]] = [process.execPath, ...options, MAIN];
  const database = server.url(await server.createDatabase());
  const service = await serve(t, ['--database', database], { command, cwd });
  const headers = { authorization: `Bearer ${service.key}` };
  assert.equal((await send(`${service.baseUrl}/pets`, { headers })).status, 200);
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0);
});
