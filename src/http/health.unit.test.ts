import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthPages, respondWaiting } from './health.ts';
import type { HttpRequest } from './message.ts';

function requestOf(target: string, headers: HttpRequest['headers'] = {}): HttpRequest {
  return { method: 'GET', target, headers, readBody: async () => Buffer.alloc(0) };
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

test('while the database is waited for, only /livez is 200, and every response has a request id', () => {
  for (const [target, expected] of [
    ['/livez?verbose', 200],
    ['/readyz', 503],
    ['/v1/pets', 503],
  ] as const) {
    const { status, headers, body } = respondWaiting(requestOf(target), () => 'made');
    assert.equal(status, expected, target);
    assert.match(body, expected === 200 ? /"ok"/ : /"unavailable"/);
    assert.deepEqual(headers.slice(-2), ['X-Request-Id', 'made']);
  }
  const given = respondWaiting(requestOf('/livez', { 'x-request-id': 'mine' }), () => 'made');
  assert.equal(given.headers.at(-1), 'mine');
});
