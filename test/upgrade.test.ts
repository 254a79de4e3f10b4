// Stores that version 1.0.0 has made are opened by this version, in place. `npm run drill -- upgrade` does the same
// under load.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { checkOut, isInHistory, VERSION_1_0_0 } from '../drills/catalogue/older-version.ts';
import {
  FIXTURE_KEY,
  postgresDump,
  READ_ONLY_NAME,
  REVOKED_NAME,
  unpackStore,
} from './fixtures/store-1.0.0.ts';
import { PostgresServer } from './postgres-server.ts';
import { run, serve, temporaryFolder } from './test-process.ts';
import { send } from './test-service.ts';

const ANIMALS =
  '[{"id":1,"name":"Rex","categoryId":1,"status":"available"},' +
  '{"id":2,"name":"Größe 🐕","categoryId":9223372036854775807,"status":"sold"},' +
  '{"id":3,"name":"Tom","categoryId":-9223372036854775808,"status":"pending"},' +
  '{"id":4,"name":"Claimed","categoryId":7,"status":"sold"},' +
  '{"id":5,"name":"Imported","categoryId":2,"status":"available"},' +
  '{"id":6,"name":"Imported","categoryId":2,"status":"available"}]';

const IMPORT = 'SELECT lines, imported, skipped FROM imports';

/** Animals, keys, claims and the last id of the store are as version 1.0.0 has left them. */
async function assertKept(t: TestContext, flags: string[]): Promise<void> {
  const service = await serve(t, flags);
  assert.equal(service.key, '', 'no new key is created');
  const ask = (method: string, body?: string, more: Record<string, string> = {}) =>
    send(`${service.baseUrl}/pets`, {
      method,
      headers: { authorization: `Bearer ${FIXTURE_KEY}`, ...more },
      ...(body === undefined ? {} : { body }),
    });
  assert.equal((await ask('GET')).text, ANIMALS);
  const repeated = await ask('POST', '{"name":"Claimed","categoryId":7,"status":"sold"}', {
    'idempotency-key': 'claim-1',
  });
  assert.equal(repeated.headers['idempotency-replayed'], 'true', repeated.text);
  assert.match(repeated.text, /^\{"id":4,/);
  assert.match((await ask('POST', '{"name":"New","categoryId":1}')).text, /^\{"id":8,/);
  service.kill('SIGTERM');
  assert.equal(await service.ended, 0);

  const keys = await run(['keys', 'list', '--json', ...flags]);
  const states = keys.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; scopes: string[]; state: string })
    .map(({ name, scopes, state }) => `${name}: ${String(scopes)}: ${state}`)
    .toSorted();
  assert.deepEqual(states, [
    'first key: pets:read,pets:write: active',
    `${READ_ONLY_NAME}: pets:read: active`,
    `${REVOKED_NAME}: pets:read,pets:write: revoked`,
  ]);
  const verified = await run(['verify', '--json', ...flags]);
  assert.equal(verified.stdout, '{"animals":7,"lastId":8,"problems":[]}\n', verified.stderr);
}

let older: string | undefined;

async function assertRefusedByOlder(t: TestContext, flags: string[]): Promise<void> {
  if (!isInHistory(VERSION_1_0_0)) {
    t.diagnostic('version 1.0.0 was not run: it is not in the history of this clone');
    return;
  }
  older ??= checkOut(VERSION_1_0_0, { isServing: false });
  const refused = await run(['keys', 'list', ...flags], { command: [process.execPath, older] });
  assert.match(refused.stderr, /^[^\n]*newer[^\n]*\n$/);
  assert.deepEqual([refused.code, refused.stdout], [2, '']);
}

test('SQLite: a store of version 1.0.0 is used in place, with nothing lost, and version 1.0.0 then refuses it', async (t) => {
  const data = temporaryFolder(t);
  unpackStore(data);
  const flags = ['--env', 'staging', '--data', data];
  await assertKept(t, flags);
  const database = new DatabaseSync(join(data, 'staging', 'petstore.sqlite'));
  t.after(() => database.close());
  assert.deepEqual({ ...database.prepare(IMPORT).get() }, { lines: 2, imported: 2, skipped: 0 });
  await assertRefusedByOlder(t, flags);
});

test('PostgreSQL: a store of version 1.0.0 is used in place, with nothing lost, and version 1.0.0 then refuses it', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const database = await server.createDatabase();
  await server.query(postgresDump(), database);
  const flags = ['--env', 'staging', '--database', server.url(database)];
  await assertKept(t, flags);
  assert.deepEqual(await server.query(IMPORT, database), [['2', '2', '0']]);
  await assertRefusedByOlder(t, flags);
});
