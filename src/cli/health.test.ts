import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runHere } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { problemOf } from './health.ts';

/** A server whose `/readyz` has the given status. */
async function listening(t: TestContext, status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end());
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return String((server.address() as AddressInfo).port);
}

describe('petstore health', () => {
  test('exits with 0 while the service is ready, also if it listens on every address', async (t) => {
    const service = await serve(t, ['--data', temporaryFolder(t), '--host', '0.0.0.0']);
    const { port } = new URL(service.baseUrl);
    const env = { PETSTORE_HOST: '0.0.0.0', PETSTORE_PORT: port };
    assert.deepEqual(await runHere(['health'], { env }), {
      code: 0,
      stdout: 'ready\n',
      stderr: '',
    });
    service.signal('SIGTERM');
    assert.equal(await service.ended, 0);
    const { code, stdout, stderr } = await runHere(['health', '--port', port]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^petstore: the service is not ready: .*\/readyz gave no response \(connect ECONNREFUSED[^\n]*\n$/,
    );
  });

  test('exits with 1 and one line if /readyz is not 200', async (t) => {
    for (const status of [204, 302, 503]) {
      const port = await listening(t, status);
      const { code, stdout, stderr } = await runHere(['health', '--port', port]);
      assert.deepEqual([code, stdout], [1, '']);
      const line = `the service is not ready: http://127.0.0.1:${port}/readyz returned ${status}`;
      assert.equal(stderr, `petstore: ${line}.\n`);
    }
  });

  test('does not wait for a service that hangs', async (t) => {
    const server = createServer(() => undefined);
    t.after(() => server.close().closeAllConnections());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const asked = problemOf(`http://127.0.0.1:${port}/readyz`, 50);
    const problem = await Promise.race([asked, sleep(10_000, 'hangs', { ref: false })]);
    assert.equal(problem, 'gave no response (The operation was aborted due to timeout)');
  });

  test('--live asks whether the process runs, and not whether it can serve requests', async (t) => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/livez' ? 200 : 503).end();
    });
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const port = String((server.address() as AddressInfo).port);
    const env = { PETSTORE_ADMIN_PORT: port, PETSTORE_ADMIN_HOST: '0.0.0.0', PETSTORE_PORT: '1' };
    const live = await runHere(['health', '--live'], { env });
    assert.deepEqual(live, { code: 0, stdout: 'alive\n', stderr: '' });
    assert.equal((await runHere(['health', '--port', port])).code, 1);
    const dead = await runHere(['health', '--live', '--admin-port', await listening(t, 503)]);
    assert.equal(dead.code, 1);
    assert.match(dead.stderr, /^petstore: the service is not alive: \S+\/livez returned 503\.\n$/);
  });

  test('asks this machine, and not the proxy that PETSTORE_BASE_URL names', async (t) => {
    const [proxy, service] = [await listening(t, 503), await listening(t, 200)];
    const env = {
      PETSTORE_BASE_URL: `http://127.0.0.1:${proxy}/v1`,
      PETSTORE_PORT: service,
    };
    assert.equal((await runHere(['health'], { env })).stdout, 'ready\n');
  });

  test('its help speaks of the port to ask, not to listen on', async () => {
    const { stdout } = await runHere(['health', '--help']);
    assert.match(stdout, /--port <PORT> +the port to ask/);
    assert.doesNotMatch(stdout, /listen/);
  });
});
