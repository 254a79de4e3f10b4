import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import type { Refusal } from './errors.ts';
import { INT64_MAX, INT64_MIN } from './int64.ts';
import { PET_STATUSES } from './pet.ts';
import { parseJson, petJson } from './json.ts';

const int64 = fc.bigInt(INT64_MIN, INT64_MAX);
const pets = fc.record(
  {
    id: int64,
    name: fc.string({ unit: anyCharacter }),
    categoryId: int64,
    status: fc.constantFrom(...PET_STATUSES),
  },
  { noNullPrototype: true },
);

test('an animal that is written and parsed again is unchanged', () => {
  fc.assert(
    fc.property(pets, (pet) => {
      const json = petJson(pet);
      assert.deepEqual(parseJson(json), pet);
    }),
  );
});

test('the fast and the exact parser give the same result', () => {
  const careful = '1234567890123456789';
  const small = fc.integer({ min: -999_999_999, max: 999_999_999 });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      small,
      fc.boolean(),
      fc.constant(null),
      fc.string({ unit: anyCharacter }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), tie('value'), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(value, (any) => {
      const text = JSON.stringify(any);
      const [first] = parseJson(`[${text},${careful}]`) as unknown[];
      assert.deepEqual(parseJson(text), first);
    }),
  );
  assert.equal(parseJson('-0'), 0n);
  assert.equal(parseJson('999999999999999'), 999_999_999_999_999n);
  // The shortest number that JSON.parse rounds.
  assert.equal(parseJson('9007199254740993'), 9_007_199_254_740_993n);
});

test('a text that JSON.parse refuses is invalid_json, at any depth', () => {
  for (const text of [
    '',
    '{',
    '[1,]',
    '{"a":1}x',
    "{'a':1}",
    '\u{feff}{}',
    '['.repeat(60_000),
    '01',
    'NaN',
  ]) {
    assert.throws(
      () => parseJson(text),
      ({ code, cause }: Refusal) => code === 'invalid_json' && cause instanceof Error,
    );
  }
});

test('a number that is not an int64 stays a number', () => {
  assert.deepEqual(parseJson('[1.5,9223372036854775808,1e400]'), [
    1.5,
    9223372036854775808,
    Infinity,
  ]);
  // Without a long number beside them.
  for (const text of ['1.5', '1e400', '-0.5', '5E-1']) assert.equal(parseJson(text), Number(text));
});
