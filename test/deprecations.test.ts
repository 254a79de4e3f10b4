// The command that lists who still calls the deprecated operation.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execute } from '../src/cli/execute.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { send } from './test-service.ts';
import { run, serve, temporaryFolder } from './test-process.ts';

interface Caller {
  id: string;
  name: string;
  state: string;
  last7Days: number;
  last30Days: number;
  last90Days: number;
  lastAt: string;
}

/** Runs a command in this process. */
async function command(...args: string[]) {
  const written = { stdout: '', stderr: '' };
  const code = await execute(COMMANDS, args, {
    env: {},
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
  });
  return { code, ...written };
}

test('the calls of all workers are listed by key while they run, and the last ones after a stop', async (t) => {
  const folder = temporaryFolder(t);
  const store = ['--data', folder];
  const deprecations = async () => {
    const { code, stdout, stderr } = await command('deprecations', '--json', ...store);
    assert.equal(code, 0, stderr);
    const lines = stdout.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Caller);
  };
  const service = await serve(t, [...store, '--workers', '2']);
  assert.deepEqual(await deprecations(), []);
  const shop = await command('keys', 'create', '--name', 'shop', '--json', ...store);
  const { key, id } = JSON.parse(shop.stdout) as { key: string; id: string };

  const get = async (path: string, count: number, caller: string) => {
    const headers = { authorization: `Bearer ${caller}` };
    for (let index = 0; index < count; index += 1) {
      await send(`${service.baseUrl}${path}`, { headers, method: index === 0 ? 'HEAD' : 'GET' });
    }
  };
  await get('/pets/1', 7, key);
  await get('/pets', 3, key);
  await get('/pets/none', 5, service.key);
  await t.waitFor(
    async () => {
      const calls = (await deprecations()).map(({ name, last7Days }) => `${name} ${last7Days}`);
      assert.deepEqual(calls.toSorted(), ['first key 5', 'shop 7']);
    },
    { timeout: 60_000, interval: 500 },
  );

  await get('/pets/1', 2, key);
  service.kill('SIGTERM');
  assert.equal(await service.ended, 0);
  const [latest] = await deprecations();
  assert.equal(latest?.id, id);
  assert.deepEqual([latest.name, latest.state], ['shop', 'active']);
  assert.deepEqual([latest.last7Days, latest.last30Days, latest.last90Days], [9, 9, 9]);
  assert.ok(Math.abs(Date.parse(latest.lastAt) - Date.now()) < 3_600_000);

  let table = '';
  const io = { env: { NO_COLOR: '1' }, stderr: { write: () => true } };
  const stdout = { isTTY: true, columns: 120, write: (text: string) => (table += text) };
  assert.equal(await execute(COMMANDS, ['deprecations', ...store], { ...io, stdout }), 0);
  assert.match(table, /^ID +NAME +STATE +7 DAYS +30 DAYS +90 DAYS +LAST CALL\n/);
  assert.match(table, /\nkey_\w+ +first key +active +5 +5 +5 +20\d\d-\d\d-\d\dT[\d:]{8}Z\n/);
  const piped = await command('deprecations', ...store);
  assert.match(piped.stdout, new RegExp(`^${id}\tshop\tactive\t9\t9\t9\t20[^\t\n]+Z\n`));
});

test('a store without such calls gives an empty list and a message; a missing store is wrong use', async (t) => {
  const store = ['--data', temporaryFolder(t)];
  const missing = await run(['deprecations', ...store]);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /^petstore: there is no store in [^\n]*\n$/);
  await command('keys', 'create', '--name', 'shop', ...store);
  const empty = await command('deprecations', ...store);
  assert.deepEqual(empty, {
    code: 0,
    stdout: '',
    stderr: 'No key has called a deprecated operation.\n',
  });
});
