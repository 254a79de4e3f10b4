import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from './operation.ts';
import { operations } from './operations.ts';
import { parseQuery, parseTarget } from './target.ts';

const [listPets] = operations;
const parse = (query: string, isStrict = false) => {
  const { values, unknownFault } = parseQuery({ query, operation: listPets, isStrict });
  if (unknownFault !== undefined) throw unknownFault;
  return Object.fromEntries(values);
};

test('known parameters are read and decoded, unknown ones ignored', () => {
  assert.deepEqual(parse('limit=5&x=1&status=%73old'), {
    limit: ['5'],
    status: ['sold'],
  });
  assert.deepEqual(parse(''), {});
});

test('a known parameter given twice has both values, and an unknown one none', () => {
  assert.deepEqual(parse('limit=5&x=1&limit=6'), { limit: ['5', '6'] });
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
  assert.deepEqual(parse('limit=5', true), { limit: ['5'] });
  const operation = operations.find(({ id }) => id === 'getPet') as Operation;
  assert.equal(
    parseQuery({ query: 'x=1', operation, isStrict: true }).unknownFault?.message,
    'Unknown query parameters: x; this operation has none.',
  );
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
  assert.deepEqual(parseQuery({ query, operation, isStrict: false }), {
    values: new Map([['constructor', ['2']]]),
    hasUnknown: true,
    unknownFault: undefined,
  });
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
