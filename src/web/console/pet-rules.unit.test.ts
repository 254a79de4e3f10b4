import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../harness/any-character.ts';
import { PET_RULES } from '../../cli/pet-format.ts';
import { Refusal } from '../../domain/errors.ts';
import type { PetRules } from '../../pet-file/read-pet.ts';
import { isBlank, trimName } from '../../domain/typed-name.ts';
import { PAGE_RULES } from './page/pet-rules.ts';

const NUMBER_OF_LINES = 2_000;

/** The animal, or undefined if the line is refused. Every other error fails the test. */
function read(line: string, rules: PetRules) {
  try {
    const { name, categoryId, status } = rules.newPet(rules.parseJson(line));
    return { name, categoryId, status };
  } catch (error) {
    assert.ok(error instanceof Refusal && error.message.endsWith('.'), String(error));
    return undefined;
  }
}

const edges = [
  '1.0',
  '1e2',
  '1.5',
  '-0',
  '1e400',
  '12345678901234567890',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '9007199254740993',
  'null',
  'true',
  '"7"',
];
const name = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '',
    ' ',
    '\u200b\u3164',
    ' Rex\n',
    '\t=1',
    '\0',
    '\ud800',
    'x'.repeat(255),
    'x'.repeat(256),
    '🦊'.repeat(255),
  ),
);
const field = (values: fc.Arbitrary<string>) => fc.option(values, { nil: undefined, freq: 9 });
const object = fc
  .record({
    name: field(
      fc.oneof(
        name.map((each) => JSON.stringify(each)),
        fc.constantFrom(...edges),
      ),
    ),
    categoryId: field(
      fc.oneof(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
        fc.constantFrom(...edges),
      ),
    ),
    status: field(fc.constantFrom('"available"', '"sold"', '"lost"', '""', 'null')),
    id: field(fc.constantFrom('1', '{}')),
  })
  .map((fields) => {
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    return `{${given.map(([key, value]) => `"${key}":${value}`).join(',')}}`;
  });
const line = fc.oneof(
  { weight: 8, arbitrary: object },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string() },
);

/** The rules of the command line for what people type: no space around a name, and none that is blank. */
const TYPED_RULES: PetRules = {
  parseJson: PET_RULES.parseJson,
  newPet: (fields) => {
    const { name: given } = Object(fields) as Record<string, unknown>;
    if (typeof given !== 'string') return PET_RULES.newPet(fields);
    if (isBlank(given)) throw new Refusal('invalid_field', 'It is blank.');
    return PET_RULES.newPet({ ...(fields as object), name: trimName(given) });
  },
};

test('the page accepts exactly the animals that the command line accepts, with names that can be seen and no space around them', () => {
  let accepted = 0;
  fc.assert(
    fc.property(line, (text) => {
      const expected = read(text, TYPED_RULES);
      if (expected !== undefined) accepted += 1;
      assert.deepEqual(read(text, PAGE_RULES), expected);
    }),
    { numRuns: NUMBER_OF_LINES },
  );
  assert.ok(accepted > NUMBER_OF_LINES / 100, `only ${accepted} animals`);
});

test('a line that is not one object is refused as such', () => {
  for (const text of ['7', '"x"', 'null', '[]']) {
    assert.throws(() => PAGE_RULES.newPet(PAGE_RULES.parseJson(text)), {
      message: 'The line is not one JSON object.',
    });
  }
});

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
