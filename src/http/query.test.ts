import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuery } from './query.ts';

const names = ['limit', 'status'];
const lenient = { refuseUnknown: false };

test('known parameters are read and decoded, unknown ones ignored', () => {
  assert.deepEqual(parseQuery('limit=5&x=1&status=%73old', names, lenient), {
    limit: '5',
    status: 'sold',
  });
  assert.deepEqual(parseQuery('', names, lenient), {});
});

test('a known parameter given twice is refused, an unknown one given twice is not', () => {
  assert.throws(() => parseQuery('limit=5&limit=6', names, lenient), { code: 'invalid_parameter' });
  assert.deepEqual(parseQuery('x=5&x=6', names, lenient), {});
});

test('under strict handling the unknown are named, but only so many of them', () => {
  const strict = { refuseUnknown: true };
  assert.throws(() => parseQuery('offset=5', names, strict), {
    code: 'unknown_parameter',
    message: /offset/,
  });
  const many = Array.from({ length: 1000 }, (_, index) => `name${index}=1`).join('&');
  assert.throws(
    () => parseQuery(many, names, strict),
    ({ message }: Error) => message.length < 700,
  );
});

test('a parameter called like something every object has is only a parameter', () => {
  assert.deepEqual(parseQuery('__proto__=1&constructor=2', ['constructor'], lenient), {
    constructor: '2',
  });
});
