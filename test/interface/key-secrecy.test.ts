// A key that was used is found nowhere: only its hash is stored. traces/traces.ts searches the traces.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { runHere } from '../../harness/command.ts';
import { type ServiceProcess, serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';

const NAME = 'Animal of the key test';

function useKey(baseUrl: string, key: string): Promise<unknown> {
  const asked = (path: string, authorization: string, body?: string) =>
    send(`${baseUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization, 'idempotency-key': randomBytes(8).toString('hex') },
      ...(body === undefined ? {} : { body }),
    });
  return Promise.all([
    asked('/pets', `Bearer ${key}`, `{"name":"${NAME}","categoryId":1}`),
    asked('/pets', `Bearer ${key}`, '{"name":'),
    asked('/pets', `Bearer ${key}`),
    asked('/pets/1', `Bearer ${key}`),
    asked('/nothing', `Bearer ${key}`),
    // Mistakes of clients.
    asked(`/pets?api_key=${key}`, `Bearer ${key}`),
    asked('/pets', key),
    asked('/pets', `Basic ${key}`),
    asked('/pets', `Bearer ${key} ${key}`),
    asked('/pets', `Bearer ${key}x`),
  ]);
}

interface Used {
  key: string;
  metrics: string;
  service: ServiceProcess;
}

/** Serves with a key of its own, which is not printed, and uses it. */
async function serveAndUse(t: TestContext, flags: string[]): Promise<Used> {
  const key = newSecret('production', randomBytes);
  const service = await serve(t, [...flags, '--admin-port', '0', '--log', 'debug'], {
    env: { PETSTORE_BOOTSTRAP_KEY: key },
  });
  await useKey(service.baseUrl, key);
  const metricsUrl = `${service.adminUrl}/metrics`;
  return { service, key, metrics: (await send(metricsUrl)).text };
}

/** The files below a folder, as text. */
function filesOf(folder: string): [name: string, text: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((name) => [name, readFileSync(name, 'latin1')]);
}

function assertSecret(key: string, places: [name: string, text: string][]): void {
  const found = places.filter(([, text]) => text.includes(key) || text.includes(key.slice(9)));
  assert.deepEqual(
    found.map(([name]) => name),
    [],
  );
}

test('SQLite: a used key is in no file of the store, no backup, no log and no metric', async (t) => {
  const data = temporaryFolder(t);
  const { key, metrics, service } = await serveAndUse(t, ['--data', data]);
  const backup = await runHere(['backup', join(data, 'b.sqlite'), '--data', data]);
  assert.equal(backup.code, 0, backup.stderr);
  const hash = createHash('sha256').update(key).digest('hex');
  let files = filesOf(data);
  const holds = (suffix: string, text: string) =>
    files.some(([name, content]) => name.endsWith(suffix) && content.includes(text));
  // The log is emptied into the file after a second without a write. Then it gets new writes.
  for (; !holds('petstore.sqlite', hash); files = filesOf(data)) await sleep(50);
  for (; !holds('petstore.sqlite-wal', NAME); files = filesOf(data))
    await useKey(service.baseUrl, key);
  assert.ok(holds('b.sqlite', hash), 'the backup has the hash');
  assert.match(service.stderr(), /"level":"debug".*"operation":"createPet","status":201/);
  assert.match(metrics, /petstore_pets_created_total [1-9]/);
  assertSecret(key, [...files, ['the log', service.stderr()], ['the metrics', metrics]]);
});

test('PostgreSQL: a used key is in no file of the database, not even in a log of all statements', async (t) => {
  const server = await PostgresServer.start({ settings: { log_statement: 'all' } });
  t.after(() => server.close());
  const { key, metrics, service } = await serveAndUse(t, ['--database', server.url()]);
  await server.query('CHECKPOINT');
  const files = filesOf(server.folder);
  assert.ok(files.some(([name, text]) => name.includes('/pg_wal/') && text.includes(NAME)));
  assert.ok(files.some(([name, text]) => name.endsWith('/log') && text.includes('api_keys')));
  assertSecret(key, [...files, ['the log', service.stderr()], ['the metrics', metrics]]);
});
