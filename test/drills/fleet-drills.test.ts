// A short run of drills/fleet. `npm run drill fleet` is the long one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { drillFleet } from '../../drills/fleet/fleet.ts';
import { Reader } from '../../drills/fleet/reader.ts';

test('two processes on one database under load: a reader that follows the next links sees every animal once, in order', async () => {
  const report = await drillFleet({ processes: 2, animals: 400, isDurable: false });
  assert.deepEqual(report.violations, []);
  assert.equal(report.acknowledged, 400);
  assert.equal(report.seen, 400);
});

for (const [fault, pages] of [
  ['appears after a higher id', [[{ id: 2, name: 'b' }], [{ id: 1, name: 'a' }]]],
  ['appears twice', [[{ id: 1, name: 'a' }], [{ id: 2, name: 'a' }]]],
] as const) {
  test(`the reader of the drill detects an animal that ${fault}`, async (t) => {
    const reader = new Reader([await servePages(t, pages)], 'any');
    await reader.follow(() => true);
    assert.equal(reader.violations.length, 1);
  });
}

test('the reader of the drill detects an animal that disappears from a page it has read', async (t) => {
  const pages = [[{ id: 1, name: 'a' }], [{ id: 2, name: 'b' }]];
  const baseUrl = await servePages(t, pages, { hasNext: false });
  const reader = new Reader([baseUrl], 'any');
  await reader.follow(() => reader.pages === 1);
  assert.deepEqual(reader.violations, ['animal 1 disappeared from its page']);
});

/** Serves the next of these pages for each request. Each but the last has a `next` link. */
async function servePages(
  t: TestContext,
  pages: readonly (readonly object[])[],
  { hasNext = true } = {},
): Promise<string> {
  let served = 0;
  const server = createServer((_request, response) => {
    const isLast = served >= pages.length - 1;
    if (hasNext && !isLast) response.setHeader('Link', '<http://any/v1/pets?x>; rel="next"');
    response.end(JSON.stringify(pages[served] ?? []));
    served += 1;
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
