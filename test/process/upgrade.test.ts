// Stores that older versions have made are opened by this version, in place. `npm run drill -- upgrade` does the
// same under load.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test, type TestContext } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { needs } from '../../harness/needs.ts';
import {
  checkOut,
  isInHistory,
  RELEASES,
  versionInHistory,
  type OlderVersion,
} from '../../harness/older-version.ts';
import {
  FIXTURE_KEY,
  postgresDump,
  READ_ONLY_NAME,
  REVOKED_NAME,
  unpackStore,
} from '../../harness/older-stores/older-stores.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { execute } from '../../src/cli/execute.ts';
import { failureOf } from '../../src/cli/failure.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { run, runHere } from '../../harness/command.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send, startTestService, storageOf } from '../../harness/test-service.ts';

const server = await PostgresServer.start();
after(() => server.close());

/** No command changes the store of an older version: that version must still be able to start. */
async function assertUnchanged(flags: string[], from: string, readAll: () => unknown) {
  const original = await readAll();
  const commands = [
    ['keys', 'list', ...flags],
    ['export', ...flags],
    ['catalogue', 'remove', '1', '--yes', ...flags],
    ['copy', '--from', from, '--to', `sqlite:${join(tmpdir(), 'not-created.sqlite')}`],
  ];
  const io = { env: {}, stdout: { write: () => true }, stderr: { write: () => true } };
  for (const command of commands) {
    const error = await execute(COMMANDS, command, io).catch((reason: unknown) => reason);
    const { exitCode, line } = failureOf(error) ?? { exitCode: 0, line: String(error) };
    assert.match(
      line,
      / is of schema \d, this program needs \d+: start the service once, or use petstore 1\.1\.0 or older\.$/,
    );
    assert.equal(exitCode, 1);
  }
  assert.equal(await execute(COMMANDS, ['verify', ...flags], io), 0);
  assert.deepEqual(await readAll(), original);
}

const ANIMALS =
  '[{"id":1,"name":"Rex","categoryId":1,"status":"available"},' +
  '{"id":2,"name":"Größe 🐕","categoryId":9223372036854775807,"status":"sold"},' +
  '{"id":3,"name":"Tom","categoryId":-9223372036854775808,"status":"pending"},' +
  '{"id":4,"name":"Claimed","categoryId":7,"status":"sold"},' +
  '{"id":5,"name":"Imported","categoryId":2,"status":"available"},' +
  '{"id":6,"name":"Imported","categoryId":2,"status":"available"}]';

const MIGRATED_BY = 'SELECT migrated_by FROM store_identity';
const IMPORT = 'SELECT lines, imported, skipped FROM imports';

/** Animals, keys, claims and the last id of the store are as the older version has left them. */
async function assertKept(flags: string[]): Promise<void> {
  const service = await startTestService(storageOf(...flags));
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
  await service.close();

  const keys = await runHere(['keys', 'list', '--json', ...flags]);
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
  const verified = await runHere(['verify', '--json', ...flags]);
  assert.equal(verified.stdout, '{"animals":7,"lastId":8,"problems":[]}\n', verified.stderr);
}

/** When keys last called the deprecated operation, as version 1.1.0 has stored it. */
const STORED_CALLS = 'SELECT api_key_id, max(last_at) FROM deprecated_calls GROUP BY api_key_id';
const LISTED_CALLS = `SELECT id, last_deprecated_call_at FROM api_keys
                      WHERE last_deprecated_call_at IS NOT NULL`;

const programs = new Map<OlderVersion, string>();

async function assertRefusedBy(
  t: TestContext,
  version: OlderVersion,
  flags: string[],
): Promise<void> {
  const skip = needs('the whole history: git fetch --unshallow', isInHistory(version));
  await t.test(
    `version ${version} refuses the store that this version has used`,
    { skip },
    async () => {
      const older = programs.getOrInsertComputed(version, () =>
        checkOut(version, { isServing: false }),
      );
      const refused = await run(['keys', 'list', ...flags], { command: [process.execPath, older] });
      assert.match(refused.stderr, /^[^\n]*newer[^\n]*\n$/);
      assert.deepEqual([refused.code, refused.stdout], [2, '']);
    },
  );
}

/** How many keys of the store have called the deprecated operation. */
const CALLERS: Record<OlderVersion, number> = { '1.0.0': 0, '1.1.0': 1 };

for (const version of RELEASES) {
  const callers = CALLERS[version];
  const skip = needs('the whole history: git fetch --unshallow', isInHistory(version));
  test(
    `the commit of ${version} is a program of that name, and this is another version`,
    { skip },
    () => {
      assert.equal(versionInHistory(version), version);
      assert.notEqual(manifest.version, version);
    },
  );

  test(`SQLite: a store of version ${version} is changed by no command, only by serve; then it is used in place, with nothing lost`, async (t) => {
    const data = temporaryFolder(t);
    unpackStore(version, data);
    const flags = ['--env', 'staging', '--data', data];
    const file = join(data, 'staging', 'petstore.sqlite');
    await assertUnchanged(flags, `sqlite:${file}`, () => readFileSync(file));
    await assertKept(flags);
    const database = new DatabaseSync(join(data, 'staging', 'petstore.sqlite'), {
      returnArrays: true,
    });
    t.after(() => database.close());
    assert.deepEqual(database.prepare(MIGRATED_BY).all(), [[manifest.version]]);
    assert.deepEqual(database.prepare(IMPORT).all(), [[2, 2, 0]]);
    const calls = database.prepare(LISTED_CALLS).all();
    assert.equal(calls.length, callers);
    assert.deepEqual(calls, database.prepare(STORED_CALLS).all());
    await assertRefusedBy(t, version, flags);
  });

  test(`PostgreSQL: a store of version ${version} is changed by no command, only by serve; then it is used in place, with nothing lost`, async (t) => {
    const database = await server.createDatabase();
    await server.query(postgresDump(version), database);
    const flags = ['--env', 'staging', '--database', server.url(database)];
    const columns = 'SELECT table_name, column_name FROM information_schema.columns ORDER BY 1, 2';
    const url = server.url(database);
    await assertUnchanged(flags, url, () => server.query(columns, database));
    await assertKept(flags);
    assert.deepEqual(await server.query(MIGRATED_BY, database), [[manifest.version]]);
    assert.deepEqual(await server.query(IMPORT, database), [['2', '2', '0']]);
    const calls = await server.query(LISTED_CALLS, database);
    assert.equal(calls.length, callers);
    assert.deepEqual(calls, await server.query(STORED_CALLS, database));
    await assertRefusedBy(t, version, flags);
  });
}
