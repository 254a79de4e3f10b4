import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../harness/any-character.ts';
import { newPet } from '../../domain/pet.ts';
import { isBlank } from '../../domain/typed-pet.ts';
import { FIELD_WORDS, FIELDS, type Field } from './page/fields.ts';

const REX = { name: 'Rex', categoryId: 7n, status: 'sold' };

function isAccepted(field: Field, value: unknown): boolean {
  try {
    newPet({ ...REX, [field]: value }, { refuseUnknown: false });
    return !(field === 'name' && isBlank(String(value)));
  } catch {
    return false;
  }
}

const edges = [
  null,
  true,
  1.5,
  7,
  '7',
  '',
  ' ',
  '\0',
  '\ud800',
  2n ** 63n,
  -(2n ** 63n) - 1n,
  'lost',
];
const value = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(...edges, 'x'.repeat(255), 'x'.repeat(256), '🦊'.repeat(255), 'available'),
);
test('the form has words for exactly the values that the service refuses, and for a name that nobody can see', () => {
  fc.assert(
    fc.property(fc.constantFrom(...FIELDS), value, (field, given) => {
      assert.equal(FIELD_WORDS[field](given) === undefined, isAccepted(field, given), field);
    }),
    { numRuns: 2_000 },
  );
});
