import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { parseInt64 } from './int64.ts';
import { newPet } from './pet.ts';
import { FIELDS, isBlank, trimName, typingFaults, type TypedPet } from './typed-pet.ts';

test('a name is blank if nobody can see it, and only the space around it is removed', () => {
  for (const text of [
    '',
    ' ',
    '\t\n',
    '\u00a0',
    '\u200b',
    '\ufeff',
    '\u3164',
    '\u00ad',
    '\u2800',
    '\0',
  ]) {
    assert.equal(isBlank(text), true, JSON.stringify(text));
  }
  for (const text of ['.', ' x ', '🦊', 'é', '\u0301', '\ue000', '\u200bRex']) {
    assert.equal(isBlank(text), false, JSON.stringify(text));
  }
  assert.equal(trimName('\u00a0 Rex  the dog\r\n'), 'Rex  the dog');
  assert.equal(trimName('\t\t=1+1 '), '\t\t=1+1', 'these tabs keep a spreadsheet from running it');
  assert.equal(trimName('\tRex'), 'Rex');
});

const REX = { name: 'Rex', categoryId: 7n, status: 'sold' };

test('the words for a field say what is wrong with its value', () => {
  const whole = 'The category is a whole number, such as 7.';
  const range = 'The category is a whole number from -9223372036854775808 to 9223372036854775807.';
  const unstored = 'The name has a character that cannot be stored.';
  for (const [field, value, words] of [
    ['name', '', 'Enter a name.'],
    ['name', 'x'.repeat(256), 'The name has 256 characters; at most 255 fit.'],
    ['name', '🦊'.repeat(255), undefined],
    ['name', 'a\0b', unstored],
    ['name', 'a\ud800b', unstored],
    ['categoryId', '', 'Enter a category, such as 7.'],
    ['categoryId', 'x7', whole],
    ['categoryId', '7x', whole],
    ['categoryId', '1.5', whole],
    ['categoryId', '9223372036854775808', range],
    ['categoryId', '-9223372036854775809', range],
    ['categoryId', -(2n ** 63n), undefined],
    ['status', undefined, undefined],
    ['status', 'sold', undefined],
    ['status', 'lost', 'The status is available, pending or sold.'],
  ] as const) {
    assert.equal(typingFaults({ ...REX, [field]: value })[field], words, `${field} ${value}`);
  }
});

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.bigInt().map(String),
  fc.constantFrom('', ' ', '\0', '\ud800', '1e2', '1.5', 'lost', 'available'),
  fc.constantFrom('x'.repeat(255), 'x'.repeat(256), '🦊'.repeat(255)),
);
test('there are words for exactly the values that the service refuses, and for a name that nobody can see', () => {
  fc.assert(
    fc.property(fc.constantFrom(...FIELDS), text, (field, typed) => {
      const value = field === 'categoryId' ? (parseInt64(typed) ?? typed) : typed;
      const pet = { ...REX, [field]: value };
      assert.equal(typingFaults(pet)[field] === undefined, isAccepted(pet), field);
    }),
    { numRuns: 2_000 },
  );
});

function isAccepted(pet: TypedPet): boolean {
  try {
    newPet(pet, { refuseUnknown: false });
    return !isBlank(pet.name);
  } catch {
    return false;
  }
}
