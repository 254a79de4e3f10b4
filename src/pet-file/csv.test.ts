import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../test/support/any-character.ts';
import { csvLine, csvFieldsOrUndefined } from './csv.ts';

test('any fields come back from CSV exactly as they were written', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter }), { minLength: 1 }), (fields) => {
      assert.deepEqual(csvFieldsOrUndefined(csvLine(fields).slice(0, -2), ','), fields);
    }),
  );
});

test('a field stands in quotes only where it must', () => {
  assert.equal(
    csvLine(['1', 'Rex', 'a,b', 'say "hi"', 'two\nlines']),
    '1,Rex,"a,b","say ""hi""","two\nlines"\r\n',
  );
});

test('quotes in the wrong place are not guessed at', () => {
  for (const record of ['a"b', '"a"b', '"a', 'x,"a""', 'a,b"']) {
    assert.equal(csvFieldsOrUndefined(record, ','), undefined, record);
  }
});
