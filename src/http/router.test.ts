import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOT_FOUND, type HttpRequest, type PublicPages } from './message.ts';
import type { Operation } from './operation.ts';
import { operations } from './operations.ts';
import { isInInterface, parseQuery, parseTarget, respondWithPage, Router } from './router.ts';

const [listPets] = operations;
const parse = (query: string, isStrict = false) =>
  parseQuery({ query, operation: listPets, isStrict });

test('known parameters are read and decoded, unknown ones ignored', () => {
  assert.deepEqual(parse('limit=5&x=1&status=%73old'), {
    limit: '5',
    status: 'sold',
  });
  assert.deepEqual(parse(''), {});
});

test('a known parameter given twice is refused, an unknown one given twice is not', () => {
  assert.throws(() => parse('limit=5&limit=6'), { code: 'invalid_parameter' });
  assert.deepEqual(parse('x=5&x=6'), {});
});

test('under strict handling the unknown are named, but only so many of them', () => {
  assert.throws(() => parse('offset=5', true), {
    code: 'unknown_parameter',
    message: /offset/,
  });
  assert.throws(() => parse('If-None-Match=1', true), {
    message: 'Unknown query parameters: If-None-Match; this operation has limit, status, cursor.',
  });
  assert.deepEqual(parse('limit=5', true), { limit: '5' });
  const operation = operations.find(({ id }) => id === 'getPet') as Operation;
  assert.throws(() => parseQuery({ query: 'x=1', operation, isStrict: true }), {
    message: 'Unknown query parameters: x; this operation has none.',
  });
  const many = Array.from({ length: 1000 }, (_, index) => `name${index}=1`).join('&');
  assert.throws(
    () => parse(many, true),
    ({ message }: Error) => message.length < 700,
  );
});

test('a parameter called like something every object has is only a parameter', () => {
  const parameter = { name: 'constructor', in: 'query', schema: {}, description: '' } as const;
  const operation = { ...listPets, parameters: [parameter] } as Operation;
  const query = '__proto__=1&constructor=2';
  assert.deepEqual(parseQuery({ query, operation, isStrict: false }), { constructor: '2' });
});

test('a request target has a path and a query, in origin form and in absolute form', () => {
  for (const [target, path, query] of [
    ['/v1/pets?limit=1', '/v1/pets', 'limit=1'],
    ['/v1/pets', '/v1/pets', ''],
    ['/v1/pets?', '/v1/pets', ''],
    ['/?a=1?b', '/', 'a=1?b'],
    ['?a=1', '/', 'a=1'],
    ['http://pets.example/v1/pets?limit=1', '/v1/pets', 'limit=1'],
    ['HTTPS://pets.example:8080/', '/', ''],
    ['http://pets.example', '/', ''],
    ['http://pets.example?a=1', '/', 'a=1'],
    ['v1/http://pets.example/pets', '/v1/http://pets.example/pets', ''],
    ['/v1/pets/%31', '/v1/pets/1', ''],
    ['/a%2fb%2Fc', '/a%2Fb%2Fc', ''],
    ['/%zz', '/%zz', ''],
    ['*', '/*', ''],
  ] as const) {
    assert.deepEqual(parseTarget(target), { path, query }, target);
  }
});

test('a path belongs to the interface if its first segment is v1', () => {
  const paths = ['/v1', '/v1/', '/v1/pets', '/v1x', '/', '/docs/v1/', '/x/v1'];
  assert.deepEqual(paths.filter(isInInterface), ['/v1', '/v1/', '/v1/pets']);
});

test('a path is found exactly, with the value of its parameter', () => {
  const router = new Router(operations);
  const found = (path: string) => {
    const route = router.find(path);
    return route && [route.path, route.pathParameter, [...route.byMethod.keys()].join()];
  };
  assert.deepEqual(found('/v1/pets'), ['/v1/pets', '', 'GET,HEAD,POST']);
  assert.deepEqual(found('/v1/pets/x y'), ['/v1/pets/{petId}', 'x y', 'GET,HEAD']);
  for (const path of ['/v1/petsx', '/v1/pets/', '/v1/pets/1/', '/v1/pet', '/x/v1/pets/']) {
    assert.equal(found(path), undefined, path);
  }
  assert.deepEqual(router.allMethods, ['GET', 'HEAD', 'POST', 'OPTIONS']);
});

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

test('a page is for GET and HEAD, and OPTIONS tells so', async () => {
  for (const method of ['GET', 'HEAD']) {
    assert.deepEqual(await pageFor(method, '/docs'), [200, 'docs']);
  }
  assert.deepEqual(await pageFor('OPTIONS', '/docs'), [204, '']);
  assert.deepEqual(await pageFor('POST', '/docs'), [405, 'method_not_allowed']);
});

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
