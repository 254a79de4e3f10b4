import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { main as check } from '../../check/main.ts';
import { run, type RunOptions } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const REX = { name: 'Rex', categoryId: 7 };

/**
 * Uses a program as somebody would who has just installed it: starts the service in an empty folder, and
 * uses the key that it prints for a create, a list, the pages and the check.
 */
export async function useInstalled(
  t: TestContext,
  flags: readonly string[],
  options: RunOptions,
): Promise<void> {
  const inFolder = { cwd: temporaryFolder(t), ...options };
  const service = await serve(t, flags, inFolder);
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const created = await fetch(`${service.baseUrl}/pets`, {
    method: 'POST',
    headers,
    body: JSON.stringify(REX),
  });
  const rex = { id: 1, ...REX, status: 'available' };
  assert.deepEqual([created.status, await created.json()], [201, rex]);
  const list = await fetch(`${service.baseUrl}/pets`, { headers });
  assert.deepEqual([list.status, await list.json()], [200, [rex]]);
  assert.ok((await visitPages(service.baseUrl)) > 10, 'few pages were found');

  const { port } = new URL(service.baseUrl);
  assert.deepEqual(await run(['health', '--port', port], inFolder), {
    code: 0,
    stdout: 'ready\n',
    stderr: '',
  });
  let report = '';
  const code = await check([service.baseUrl, '--write'], {
    env: { PETSTORE_API_KEY: service.key },
    stdout: { write: (text) => (report += text) },
    stderr: process.stderr,
  });
  assert.match(report, /^\d+ kept, 0 broken, /m, report);
  assert.equal(code, 0);
  const exported = await run(['export'], inFolder);
  assert.ok(exported.stdout.startsWith(`${JSON.stringify(rex)}\n`), exported.stderr);
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0, service.stderr());
}

/** Fetches the console, the documents and everything that they refer to; returns the number of files. */
async function visitPages(baseUrl: string): Promise<number> {
  const found = new Set([new URL('/', baseUrl).href, new URL('/docs', baseUrl).href]);
  for (const address of found) {
    const response = await fetch(address);
    assert.equal(response.status, 200, address);
    const text = await response.text();
    const isScript = response.headers.get('content-type')?.startsWith('text/javascript');
    const references = isScript ? /\bfrom ['"](\.[^'"]+)['"]/g : /\b(?:href|src)="([^"#]+)"/g;
    for (const [, reference = ''] of text.matchAll(references)) {
      const url = new URL(reference, response.url);
      if (url.origin === new URL(baseUrl).origin && !url.pathname.startsWith('/v1')) {
        url.hash = '';
        found.add(url.href);
      }
    }
  }
  return found.size;
}
