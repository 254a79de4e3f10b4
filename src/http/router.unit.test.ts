import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_METHODS, findRoute, isInInterface } from './router.ts';

test('a path belongs to the interface if its first segment is v1', () => {
  const paths = ['/v1', '/v1/', '/v1/pets', '/v1x', '/', '/docs/v1/', '/x/v1'];
  assert.deepEqual(paths.filter(isInInterface), ['/v1', '/v1/', '/v1/pets']);
});

function found(path: string) {
  const [route, parameter] = findRoute(path) ?? [];
  return route && [route.path, parameter, [...route.byMethod.keys()].join()];
}

test('a path is found exactly, with the value of its parameter', () => {
  assert.deepEqual(found('/v1/pets'), ['/v1/pets', '', 'GET,HEAD,POST']);
  assert.deepEqual(found('/v1/pets/x y'), ['/v1/pets/{petId}', 'x y', 'GET,HEAD']);
  for (const path of ['/v1/petsx', '/v1/pets/', '/v1/pets/1/', '/v1/pet', '/x/v1/pets/']) {
    assert.equal(found(path), undefined, path);
  }
  assert.deepEqual(ALL_METHODS, ['GET', 'HEAD', 'POST', 'OPTIONS']);
});
