import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { Compile } from 'typebox/schema';
import { Refusal } from './errors.ts';
import { INT64_MAX, INT64_MIN } from './int64.ts';
import { newPet, NewPet, PET_STATUSES } from './pet.ts';

const lenient = { refuseUnknown: false };
const names = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 255 })
  .filter((name) => !name.includes('\0'));

test('every valid body gives exactly its animal', () => {
  fc.assert(
    fc.property(
      names,
      fc.bigInt(INT64_MIN, INT64_MAX),
      fc.constantFrom(...PET_STATUSES),
      (name, categoryId, status) => {
        assert.deepEqual(newPet({ name, categoryId, status }, lenient), {
          name,
          categoryId,
          status,
        });
      },
    ),
  );
});

test('a field is accepted if its schema allows it, and its text has no lone surrogates', () => {
  const { name, categoryId, status } = NewPet.properties;
  const schemas = { name: Compile(name), categoryId: Compile(categoryId), status: Compile(status) };
  const edges = [INT64_MIN, INT64_MAX, 2n ** 64n, -(2n ** 64n), 7, 1.5, null, true, {}, []];
  const texts = [
    '',
    'a\0',
    '\n',
    '🐶'.repeat(255),
    '🐶'.repeat(256),
    'é'.repeat(256),
    'sold',
    'Sold',
  ];
  const value = fc.oneof(
    fc.constantFrom<unknown>(...edges, ...texts),
    fc.string({ unit: anyCharacter, maxLength: 300, size: 'max' }),
    fc.bigInt(),
  );
  const field = fc.constantFrom('name', 'categoryId', 'status');
  fc.assert(
    fc.property(field, value, (changed, given) => {
      const isWellFormed = typeof given !== 'string' || given.isWellFormed();
      const isAllowed = schemas[changed].Check(given) && isWellFormed;
      const create = () => newPet({ name: 'Rex', categoryId: 7n, [changed]: given }, lenient);
      if (isAllowed) assert.equal(create()[changed], given);
      else assert.throws(create, { code: 'invalid_field' });
    }),
    { numRuns: 2_000 },
  );
});

test('a categoryId next to the limits of int64 is refused', () => {
  // Not among the values above: TypeBox compares bigints with rounded limits.
  for (const categoryId of [INT64_MIN - 1n, INT64_MAX + 1n]) {
    assert.throws(() => newPet({ name: 'Rex', categoryId }, lenient), { code: 'invalid_field' });
  }
});

test('a name with U+0000 or a lone surrogate is refused, and one with an emoji is not', () => {
  for (const name of ['a\0', '\ud83d', 'a\udc36b', '\udc36\ud83d']) {
    assert.throws(() => newPet({ name, categoryId: 1n }, lenient), { code: 'invalid_field' });
  }
  assert.equal(newPet({ name: 'Rex 🐶', categoryId: 1n }, lenient).name, 'Rex 🐶');
});

test('status is available if it is omitted', () => {
  assert.equal(newPet({ name: 'Rex', categoryId: 1n }, lenient).status, 'available');
});

test('every body gives an animal or a Refusal', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (body) => {
      try {
        const { name, categoryId, status } = newPet(body, { refuseUnknown: true });
        assert.equal(typeof name, 'string');
        assert.equal(typeof categoryId, 'bigint');
        assert.ok(PET_STATUSES.includes(status));
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error));
      }
    }),
  );
});

test('one Refusal names every invalid field and what it must be', () => {
  assert.throws(
    () => newPet({ name: 5, status: 'lost', colour: 'red' }, { refuseUnknown: true }),
    ({ code, message }: Refusal) =>
      code === 'missing_field' &&
      /categoryId is missing: it must be an integer/.test(message) &&
      /name must be a string of 1 to 255/.test(message) &&
      /status must be one of available, pending, sold/.test(message) &&
      /Unknown fields: colour;/.test(message),
  );
});

test('the message names nothing but what is wrong', () => {
  assert.throws(() => newPet({ name: 'Rex', categoryId: 1n, status: 'lost' }, lenient), {
    code: 'invalid_field',
    message: 'status must be one of available, pending, sold.',
  });
  assert.throws(() => newPet({ name: 'Rex' }, lenient), {
    code: 'missing_field',
    message:
      'categoryId is missing: it must be an integer from -9223372036854775808 to 9223372036854775807, written as a JSON number.',
  });
});

test('the Refusal of a body that is not an object says what it is', () => {
  const kinds = [
    [null, 'null'],
    [[], 'an array'],
    ['Rex', 'a string'],
    [true, 'a boolean'],
    [1n, 'a number'],
    [1.5, 'a number'],
  ] as const;
  for (const [body, kind] of kinds) {
    const message = `The body must be a JSON object, not ${kind}.`;
    assert.throws(() => newPet(body, lenient), { code: 'invalid_json', message });
  }
});

test('an error message repeats a limited number of unknown names', () => {
  const body = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [`${index}`.padEnd(300, 'x'), 1]),
  );
  assert.throws(
    () => newPet({ name: 'a', categoryId: 1n, ...body }, { refuseUnknown: true }),
    ({ message }: Refusal) => message.length < 1000 && /and 4990 more/.test(message),
  );
});
