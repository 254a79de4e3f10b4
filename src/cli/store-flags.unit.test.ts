import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { flagsOf } from '../../harness/test-service.ts';
import { loadConfig } from '../config.ts';
import type { Environment } from '../domain/api-key.ts';
import { newStoreIdentity } from '../domain/store-identity.ts';
import { openLog } from '../ops/log.ts';
import { startService } from '../service.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';
import { failureOf } from './failure.ts';

/** Runs a command as `runCommand` does. */
async function run(...args: string[]) {
  const written = { stdout: '', stderr: '' };
  try {
    const code = await execute(COMMANDS, args, {
      env: {},
      stdout: { write: (text) => (written.stdout += text) },
      stderr: { write: (text) => (written.stderr += text) },
    });
    return { code, ...written };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    return { code: failure.exitCode, ...written, stderr: failure.line };
  }
}

/** A store in the folder of production, and a file with one animal. */
async function newStore(t: TestContext, environment: Environment) {
  const data = await mkdtemp(join(tmpdir(), 'petstore-flags-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  const file = join(data, 'production', 'petstore.sqlite');
  const identity = newStoreIdentity(environment, { now: new Date(), randomBytes });
  const store = openSqliteStore(file, { identity });
  await store.createPet({ name: 'Rex', categoryId: 1n, status: 'available' });
  await store.close();
  const animals = join(data, 'animals.ndjson');
  await writeFile(animals, '{"name":"Tom","categoryId":1}\n');
  return { data, file, animals };
}

test('serve and every command refuse a store of another environment with exit code 2; verify accepts it', async (t) => {
  const { data, file, animals } = await newStore(t, 'staging');
  const line = `${file} is a staging store, and the environment is production: set --env or PETSTORE_ENV to staging, or name another data folder.`;
  for (const args of [
    ['keys', 'list'],
    ['keys', 'create', '--name', 'shop', '--create'],
    ['keys', 'revoke', 'key_x'],
    ['keys', 'rotate', 'key_x'],
    ['import', animals],
    ['export'],
    ['catalogue', 'set-status', '1', '--to', 'sold'],
    ['catalogue', 'remove', '1', '--yes'],
  ]) {
    const refused = await run(...args, '--data', data);
    assert.deepEqual(refused, { code: 2, stdout: '', stderr: line }, args.join(' '));
  }
  const flags = flagsOf(['--data', data, '--port', '0', '--admin-port', 'off']);
  const runtime = {
    clock: { now: () => new Date(), elapsedMs: () => performance.now() },
    randomBytes,
    newRequestId: randomUUID,
    log: openLog('fatal', { write: () => true }),
    isWorker: false,
  };
  await assert.rejects(startService(loadConfig(flags, {}), runtime), { message: line });
  const verified = await run('verify', file);
  assert.equal(verified.stderr, `${file}: animals: 1, last id: 1, problems: 0.\n`);
  assert.equal(verified.code, 0);
  const away = ['--database', 'postgres://petstore@127.0.0.1:1/pets'];
  assert.deepEqual(await run('verify', file, ...away), verified, 'a file is named, not a database');
});

test('every command names the store that it has read or changed', async (t) => {
  const { data, file } = await newStore(t, 'production');
  const linesOf = async (...args: string[]) => {
    const { code, stderr } = await run(...args, '--data', data);
    assert.equal(code, 0, stderr);
    return stderr.replaceAll(/key_\w+/g, 'key').replace(/\d{4}-\S+Z/, 'TIME');
  };
  const created = 'the key is shown only once:\n';
  assert.equal(
    await linesOf('keys', 'create', '--name', 'shop'),
    `Created key (shop) for production in ${file}; ${created}`,
  );
  assert.equal(await linesOf('keys', 'list'), `1 key in ${file}.\n`);
  const { stdout } = await run('keys', 'list', '--json', '--data', data);
  const { id } = JSON.parse(stdout) as { id: string };
  assert.equal(
    await linesOf('keys', 'rotate', id),
    `Created key in ${file} instead of key, which expires at TIME; ${created.replace('the', 'the new')}`,
  );
  assert.match(await linesOf('keys', 'revoke', id), /^Revoked key \(shop\) in /);
  assert.equal(await linesOf('export'), `Exported 1 animal from ${file}.\n`);
  assert.equal(
    await linesOf('catalogue', 'remove', '1', '--yes'),
    `Removed 1 animal in ${file}.\n`,
  );
  assert.equal(await linesOf('verify'), `${file}: animals: 0, last id: 1, problems: 0.\n`);
  assert.equal(
    await linesOf('verify', '--json'),
    `${file}: animals: 0, last id: 1, problems: 0.\n`,
  );
});

test('the id of a store that import --create has made lies beside it', async (t) => {
  const { data, animals } = await newStore(t, 'production');
  const other = join(data, 'other');
  assert.equal((await run('import', animals, '--create', '--data', other)).code, 0);
  const id = readFileSync(join(other, 'production', 'petstore.store-id'), 'utf8');
  assert.match(id, /^\w{16}\n$/);
});
