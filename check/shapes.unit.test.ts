import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFieldFault, PET_FIELDS } from './shapes.ts';
import { verdictOf } from './verdict.ts';

test('a fault says what is wrong and shows the value', () => {
  const rule = 'name must be a string, not';
  const shown: [unknown, string | undefined][] = [
    [{ name: 'Rex' }, undefined],
    [{}, `${rule} missing`],
    [{ name: 2n ** 63n }, `${rule} 9223372036854775808`],
    [{ name: [1n, 'a', null] }, `${rule} ["1","a",null]`],
    [Object.create({ name: 'inherited' }), `${rule} missing`],
    [null, 'null is not an object'],
    [[1n], '["1"] is not an object'],
    ['Rex', '"Rex" is not an object'],
    [undefined, 'missing is not an object'],
  ];
  for (const [value, fault] of shown) assert.equal(findFieldFault(value, PET_FIELDS.name), fault);
});

test('an error that is no verdict is a fault of the check, and is not hidden', async () => {
  const bug = new Error('a bug');
  await assert.rejects(
    verdictOf(() => Promise.reject(bug)),
    bug,
  );
});
