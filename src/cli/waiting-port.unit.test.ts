import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../harness/free-port.ts';
import { send } from '../../harness/test-service.ts';
import { loadConfig } from '../config.ts';
import { openLog } from '../ops/log.ts';
import { WaitingPort } from './waiting-port.ts';

const RUNTIME = {
  clock: { now: () => new Date(), elapsedMs: () => performance.now() },
  randomBytes: (size: number) => Buffer.alloc(size),
  newRequestId: () => 'request-1',
  log: openLog('silent', process.stderr),
  isWorker: false,
};

test('while the database is away /livez is 200 and all else 503; then the port is free for the service', async (t) => {
  const port = await freePort();
  const waiting = new WaitingPort(loadConfig({ port: String(port) }, {}), RUNTIME);
  t.after(() => waiting.close());
  // A database that was never away.
  await waiting.release();
  await waiting.close();
  // Each attempt to reach the database opens it again.
  await waiting.open();
  await waiting.open();
  const url = `http://127.0.0.1:${port}`;
  const responses = await Promise.all(['/livez', '/readyz'].map((path) => send(url + path)));
  assert.deepEqual(
    responses.map(({ status, headers }) => [status, headers['x-request-id']]),
    [
      [200, 'request-1'],
      [503, 'request-1'],
    ],
  );
  await waiting.release();
  await assert.rejects(send(`${url}/livez`), { code: 'ECONNREFUSED' });
});
