// What the recordings of test/golden/commands/catalogue.txt cannot say.

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';
import { COMMANDS } from './commands.ts';
import { executeOrExplain } from './run.ts';

interface RunOptions {
  /** What a person types at a terminal, in the parts in which it arrives. */
  typed?: Iterable<string> | AsyncIterable<string>;
  isTTY?: boolean;
  /** Whether messages are on a terminal; by default as the input. */
  isShown?: boolean;
}

async function run(
  args: string[],
  { typed = [], isTTY = false, isShown = isTTY }: RunOptions = {},
): Promise<{ code: number; words: string }> {
  let words = '';
  const code = await executeOrExplain(COMMANDS, ['catalogue', ...args], {
    env: {},
    stdin: Object.assign(Readable.from(typed), { isTTY }),
    stdout: { write: () => assert.fail('all is said on standard error') },
    stderr: { write: (text) => (words += text), isTTY: isShown },
  });
  return { code, words };
}

test('petstore catalogue › a reply that arrives in parts is read to the end of its line', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  await service.send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' });
  const typed = ['Y', 'es\n', 'no\n'];
  const { code, words } = await run(['remove', '1', ...service.flags], { typed, isTTY: true });
  assert.equal(code, 0, words);
  assert.equal((await service.send('/pets')).text, '[]');
});

test('petstore catalogue › an animal that somebody changes during the question is not removed, nor are the others', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  for (const name of ['Rex', 'Tom']) {
    await service.send('/pets', { method: 'POST', body: `{"name":"${name}","categoryId":7}` });
  }
  async function* typed() {
    await run(['set', '2', '--status', 'sold', ...service.flags]);
    yield 'yes\n';
  }
  const { code, words } = await run(['remove', '1', '2', ...service.flags], {
    typed: typed(),
    isTTY: true,
  });
  assert.equal(code, 1);
  assert.match(
    words,
    /continue: petstore: somebody has changed the animal 2 meanwhile: look at it, and run the command again\.\nNothing was changed in /,
  );
  assert.match((await service.send('/pets')).text, /"Rex".*"Tom","categoryId":7,"status":"sold"/);
});

test('petstore catalogue › a removal needs --yes unless both the reply and the question have a terminal', async () => {
  for (const [isTTY, isShown] of [
    [false, false],
    [true, false],
    [false, true],
  ] as const) {
    const asked = await run(['remove', '1'], { typed: ['yes\n'], isTTY, isShown });
    assert.equal(asked.code, 2);
    assert.match(asked.words, /^petstore: catalogue remove needs --yes [^\n]+\n$/);
  }
});

test('petstore catalogue › a running service shows the change in its next response', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const create = (name: string) =>
    service.send('/pets', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': name },
      body: JSON.stringify({ name, categoryId: 7 }),
    });
  const created = await create('Rex');
  await create('Tom');
  // Read often enough to be cached.
  for (let time = 0; time < 5; time += 1) await service.send('/pets?status=available');
  const { headers } = await service.send('/pets?status=available');

  assert.equal((await run(['set', '1', '--status', 'sold', ...service.flags])).code, 0);
  const tag = { 'if-none-match': String(headers.etag) };
  const listed = await service.send('/pets?status=available', { headers: tag });
  assert.equal(listed.status, 200);
  assert.equal(listed.text, '[{"id":2,"name":"Tom","categoryId":7,"status":"available"}]');
  assert.equal((await service.send('/pets/1')).text, created.text.replace('available', 'sold'));
  const repeated = await create('Rex');
  assert.equal(repeated.text, created.text);
  assert.equal(repeated.headers['idempotency-replayed'], 'true');

  assert.equal((await run(['remove', '1', '2', '--yes', ...service.flags])).code, 0);
  assert.equal((await service.send('/pets')).text, '[]');
  assert.equal((await service.send('/pets/1')).status, 404);
  assert.equal((await create('Rex')).text, created.text);
  assert.match((await create('Max')).text, /^\{"id":3,/);
});
