import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpRequest } from './message.ts';
import { NOT_FOUND, respondWithPage, type PublicPages } from './pages.ts';

const readBody = async () => Buffer.alloc(0);
const page = (body: string) => () => ({ status: 200, headers: [], body });
const PAGES: PublicPages = new Map([
  ['/docs', page('docs')],
  [NOT_FOUND, page('lost')],
]);

/** The status of the response, and its body or the code of its Error. */
async function pageFor(method: string, path: string, accept?: string, pages = PAGES) {
  const headers: HttpRequest['headers'] = accept === undefined ? {} : { accept };
  const request = { method, target: path, headers, readBody };
  const { status, code, body } = await respondWithPage(pages, request, path);
  return [status, code ?? body];
}

test('for a path that does not exist, a browser gets a page and a program an Error', async () => {
  const html = 'text/html,application/xhtml+xml';
  for (const method of ['GET', 'HEAD']) {
    assert.deepEqual(await pageFor(method, '/none', html), [200, 'lost']);
  }
  for (const [method, accept] of [
    ['POST', html],
    ['GET', undefined],
    ['GET', '*/*'],
    ['GET', `application/json, ${html}`],
  ] as const) {
    assert.deepEqual(await pageFor(method, '/none', accept), [404, 'route_not_found'], `${accept}`);
  }
  assert.deepEqual(await pageFor('GET', '/none', html, new Map()), [404, 'route_not_found']);
});
