import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthPages } from './health.ts';
import type { HttpRequest } from './message.ts';

function requestOf(target: string): HttpRequest {
  return { method: 'GET', target, headers: {}, readBody: async () => Buffer.alloc(0) };
}

test('/livez is 200 always, /readyz only while the service is ready, and neither is cached', async () => {
  const state = { isReady: true };
  const pages = new Map(healthPages(async () => state.isReady));
  const statuses = async () => {
    const found: Record<string, number> = {};
    for (const [path, page] of pages) {
      const { status, headers } = await page(requestOf(path));
      assert.equal(headers[headers.indexOf('Cache-Control') + 1], 'no-store');
      found[path] = status;
    }
    return found;
  };
  assert.deepEqual(await statuses(), { '/livez': 200, '/readyz': 200 });
  state.isReady = false;
  assert.deepEqual(await statuses(), { '/livez': 200, '/readyz': 503 });
});
