// The access log on standard output, as a supervisor reads it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { newSecret } from '../../src/domain/api-key.ts';
import { exchange } from '../../harness/raw-socket.ts';
import { send } from '../../harness/test-service.ts';
import { MAIN, runHere } from '../../harness/command.ts';
import { type ServiceProcess, serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const PET = '{"name":"Rex","categoryId":1}';

type Line = Record<string, unknown>;

/** The lines that have arrived completely. */
function linesOf(service: ServiceProcess): Line[] {
  const lines = service.stdout().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

test('the access log tells what a key has created, with any number of workers, and has no key in it', async (t) => {
  const data = temporaryFolder(t);
  const key = newSecret('production', randomBytes);
  const service = await serve(t, ['--data', data, '--access-log', '-', '--workers', '2'], {
    env: { PETSTORE_BOOTSTRAP_KEY: key },
  });
  const pets = `${service.baseUrl}/pets`;
  const leaked = await runHere(['keys', 'create', '--name', 'leaked', '--data', data]);
  const createWith = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}`, 'x-forwarded-for': '192.0.2.9' };
    const { json } = await send(pets, { method: 'POST', headers, body: PET });
    return String((json() as { id: number }).id);
  };
  const secrets = Array.from({ length: 20 }, (_, index) =>
    index % 2 ? key : leaked.stdout.trim(),
  );
  const ids = await Promise.all(secrets.map(createWith));
  await exchange(Number(new URL(pets).port), ['NOT HTTP\r\n\r\n']);
  await until('one line per request', () => linesOf(service).length === 21);
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0);

  const lines = linesOf(service);
  const keyId = /key_\w+/.exec(leaked.stderr)?.[0];
  const created = lines.filter((line) => line['keyId'] === keyId && line['status'] === 201);
  assert.deepEqual(
    created.map(({ petId }) => String(petId)).toSorted(),
    ids.filter((_, index) => index % 2 === 0).toSorted(),
  );
  for (const { address, forwardedFor, route, method } of created) {
    assert.deepEqual(
      [address, forwardedFor, method, route],
      ['127.0.0.1', '192.0.2.9', 'POST', '/v1/pets'],
    );
  }
  assert.ok(new Set(lines.map(({ instance }) => instance)).size <= 2);
  const notRequest = lines.filter(({ code }) => code === 'malformed_request');
  assert.deepEqual(
    notRequest.map(({ status, address, keyId: none }) => [status, address, none]),
    [[400, '127.0.0.1', undefined]],
  );
  assert.doesNotMatch(service.stdout() + service.stderr(), /pet_live_/);
});

test('with the access log the first start creates no key and prints none', async (t) => {
  const data = temporaryFolder(t);
  const service = await serve(t, ['--data', data, '--access-log', '-']);
  assert.equal(service.stdout(), '');
  assert.match(String(service.started['createKey']), / keys create --name NAME /);
  assert.equal(
    (await runHere(['keys', 'list', '--data', data, '--json'])).stdout.includes('key_'),
    false,
  );
});

test('when nobody reads the access log, requests get their responses, lines are dropped and counted, and SIGTERM stops the service', async (t) => {
  const key = newSecret('production', randomBytes);
  const flags = ['--data', temporaryFolder(t), '--access-log', '-'];
  const service = await serve(t, flags, { env: { PETSTORE_BOOTSTRAP_KEY: key } });
  service.stopReading();
  // A line with a long X-Forwarded-For has some 500 bytes: 1 MiB and what the pipe holds are soon full.
  const headers = { authorization: `Bearer ${key}` };
  const head = `GET /livez HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${'a'.repeat(256)}\r\n`;
  const requests = `${head}\r\n`.repeat(100) + `${head}Connection: close\r\n\r\n`;
  const port = Number(new URL(service.baseUrl).port);
  for (let index = 0; index < 40; index += 1) await exchange(port, [requests]);
  assert.equal((await send(`${service.baseUrl}/pets`, { headers })).status, 200);
  service.resumeReading();
  // The first line behind the unread ones counts those that were dropped.
  const isCounted = async () => {
    await send(`${service.baseUrl}/pets`, { headers });
    const counted = linesOf(service).find(({ msg }) => /were dropped/.test(String(msg)));
    return Number(counted?.['lines']) > 0;
  };
  await until('the number of dropped lines', isCounted);
  service.stopReading();
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0);
});

test('when the reader of the access log is gone, the service continues', async (t) => {
  const key = newSecret('production', randomBytes);
  const flags = ['--port', '0', '--admin-port', 'off', '--data', temporaryFolder(t)];
  const child = spawn(process.execPath, [MAIN, 'serve', '--access-log', '-', ...flags], {
    env: { PETSTORE_BOOTSTRAP_KEY: key },
  });
  t.after(() => child.kill('SIGKILL'));
  let shown = '';
  child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  await until('the service must start', () => shown.includes('"msg":"started"'));
  child.stdout.destroy();
  const pets = `${/"baseUrl":"([^"]+)"/.exec(shown)?.[1]}/pets`;
  const headers = { authorization: `Bearer ${key}` };
  for (let index = 0; index < 3; index += 1) {
    assert.equal((await send(pets, { headers })).status, 200);
  }
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});
