import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestPath } from './similar-path.ts';

const PAGES = ['/', '/docs', '/docs/errors', '/assets/docs.css', '/livez', '*'];

test('a path that is nearly one of the service is named, and any other gets all paths of the interface', () => {
  for (const [path, similar] of [
    ['/pets', '/v1/pets'],
    ['/pet', '/v1/pets'],
    ['/pest', '/v1/pets'],
    ['/v2/pets', '/v1/pets'],
    ['/api/v1/pets', '/v1/pets'],
    ['/v1/pets/', '/v1/pets'],
    ['/v1/PETS', '/v1/pets'],
    ['/v1//pets', '/v1/pets'],
    ['/v1/pets ', '/v1/pets'],
    ['/pets/7', '/v1/pets/{petId}'],
    ['/v1/pet/7', '/v1/pets/{petId}'],
    ['/v1/pets/7/', '/v1/pets/{petId}'],
    ['/doc', '/docs'],
    ['/v1/docs', '/docs'],
    ['/docs/error', '/docs/errors'],
    ['/livz', '/livez'],
  ] as const) {
    assert.equal(suggestPath(path, PAGES), `Did you mean ${similar}?`, path);
  }
  const all = 'The interface has /v1/pets and /v1/pets/{petId}; /docs describes it.';
  for (const path of [
    '/v1',
    '/v1/',
    '/x',
    '/v1/stop',
    '/v1/pets/7/photos',
    '/store/orders',
    '/asset/docs.css',
    '/assets/doc.css',
    `/pets${'/'.repeat(8_000)}`,
  ]) {
    assert.equal(suggestPath(path, PAGES), all, path);
  }
});
