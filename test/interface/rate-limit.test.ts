// The rate limit when the clock changes, or a client aborts.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { serve, type ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';
import { send, sqliteStorage, startTestService } from '../../harness/test-service.ts';

const ABORTS = 200;
const DAY_MS = 86_400_000;

for (const days of [-400, 400]) {
  test(`a clock change of ${days} days affects neither the rate limit nor Retry-After`, async (t) => {
    const now = Date.now();
    t.mock.timers.enable({ apis: ['Date'], now });
    const service = await startTestService(sqliteStorage, { flags: ['--rate-limit', '1/600s'] });
    t.after(() => service.close());
    assert.equal((await service.send('/pets')).status, 200);
    t.mock.timers.setTime(now + days * DAY_MS);
    const over = await service.send('/pets');
    assert.equal(over.status, 429);
    const seconds = Number(over.headers['retry-after']);
    assert.ok(seconds > 0 && seconds <= 600, `Retry-After: ${seconds}`);
  });
}

test('a key can send requests again in the next window of its rate limit', async (t) => {
  const service = await startTestService(sqliteStorage, { flags: ['--rate-limit', '1/1s'] });
  t.after(() => service.close());
  await service.send('/pets');
  await until(
    'the next window must begin',
    async () => (await service.send('/pets')).status === 200,
  );
});

test('no request stays in flight when clients abort their bodies', async (t) => {
  const flags = ['--rate-limit', '100000/60s', '--admin-port', '0'];
  await assertAborted(await serve(t, ['--data', temporaryFolder(t), ...flags]));
});

async function assertAborted(service: ServiceProcess): Promise<void> {
  const { port } = new URL(service.baseUrl);
  const head = [
    'POST /v1/pets HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${service.key}`,
    'Content-Length: 100',
  ];
  for (let index = 0; index < ABORTS; index += 1) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(`${head.join('\r\n')}\r\n\r\n{"name":`, () => socket.destroy());
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
    });
  }
  await until('no request may stay in flight', async () => {
    const { text } = await send(`${service.adminUrl}/metrics`);
    return /^petstore_requests_in_flight 0$/m.test(text);
  });
}
