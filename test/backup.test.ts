// `petstore backup`, `restore` and `verify` as commands, beside a running service.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PostgresServer } from './postgres-server.ts';
import { run, serve, temporaryFolder } from './test-process.ts';
import { send } from './test-service.ts';

test('a backup of a running service is restored after it has stopped, and no id is assigned again', async (t) => {
  const data = temporaryFolder(t);
  const file = join(data, 'monday.sqlite');
  const service = await serve(t, ['--data', data]);
  const create = (baseUrl: string) =>
    send(`${baseUrl}/pets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}` },
      body: '{"name":"Rex","categoryId":1}',
    });
  await create(service.baseUrl);
  const made = await run(['backup', file, '--data', data]);
  assert.deepEqual([made.code, made.stdout], [0, ''], made.stderr);
  assert.match(made.stderr, /monday\.sqlite is complete and checked; animals: 1, last id: 1\.\n$/);
  await create(service.baseUrl);

  const refused = await run(['restore', file, '--data', data]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^petstore: [^\n]+ is in use: stop every service [^\n]+\n$/);

  service.kill('SIGTERM');
  await service.ended;
  const restored = await run(['restore', file, '--data', data]);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stderr, /new animals get ids above 2\.\nThe former store is [^\n]+-1\.\n$/);
  const verified = await run(['verify', '--data', data, '--json']);
  assert.deepEqual(
    [verified.code, verified.stdout],
    [0, '{"animals":1,"lastId":2,"problems":[]}\n'],
  );
  const again = await serve(t, ['--data', data]);
  assert.match((await create(again.baseUrl)).text, /^\{"id":3,/);
});

test('a backup that is missing or no database is refused in one line, and no store is created', async (t) => {
  const data = temporaryFolder(t);
  for (const file of [join(data, 'missing.sqlite'), new URL(import.meta.url).pathname]) {
    const { code, stderr } = await run(['restore', file, '--data', join(data, 'store')]);
    assert.ok(code === 1 || code === 2, stderr);
    assert.match(stderr, /^petstore: [^\n]+\n$/);
  }
  assert.equal(existsSync(join(data, 'store', 'production', 'petstore.sqlite')), false);
});

test('on PostgreSQL backup and restore name the tool to use, and verify names what is wrong', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.close());
  const url = server.url(await server.createDatabase());
  const service = await serve(t, ['--database', url]);
  for (const [command, tool] of [
    ['backup', 'pg_dump'],
    ['restore', 'pg_restore'],
  ] as const) {
    const { code, stderr } = await run([command, 'monday.sqlite', '--database', url]);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`^petstore: [^\\n]+use ${tool} [^\\n]+\\n$`));
  }
  assert.equal((await run(['verify', '--database', url])).code, 0);
  service.kill('SIGTERM');
  await service.ended;
  await server.query(
    "INSERT INTO pets VALUES (7, 'Rex', 1, 'sold'), (8, 'Tom', 1, 'sold')",
    new URL(url).pathname.slice(1),
  );
  const broken = await run(['verify', '--database', url]);
  assert.deepEqual(
    [broken.code, broken.stdout],
    [1, '2 animals have an id that was never assigned (the first is 7)\n'],
  );
});
