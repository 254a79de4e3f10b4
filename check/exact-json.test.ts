import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { INT64_MAX, INT64_MIN } from '../src/domain/int64.ts';
import { parseExactJson } from './exact-json.ts';

test('every int64 is read with the digits it was written with', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (value) => {
      assert.deepEqual(parseExactJson(`{"list":[${value}]}`), { list: [value] });
    }),
  );
});

test('what is no int64 stays a number, a string stays a string', () => {
  assert.deepEqual(parseExactJson('[1.5,9223372036854775808,"7",1.0]'), [1.5, 2 ** 63, '7', 1n]);
});

test('what is not JSON is refused', () => {
  assert.throws(() => parseExactJson('{"id":1'), SyntaxError);
});
