import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import {
  csvFieldsOrUndefined,
  csvLine,
  findCsvRecordEnd,
  guardFormula,
  unguardFormula,
  type CsvRecordEnd,
} from './csv.ts';

test('any fields come back from CSV exactly as they were written', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter }), { minLength: 1 }), (fields) => {
      assert.deepEqual(csvFieldsOrUndefined(csvLine(fields).slice(0, -2), ','), fields);
    }),
  );
});

test('a field stands in quotes only where it must', () => {
  assert.equal(
    csvLine(['1', 'Rex', 'a,b', 'say "hi"', 'two\nlines', 'a lone\rreturn']),
    '1,Rex,"a,b","say ""hi""","two\nlines","a lone\rreturn"\r\n',
  );
});

test('quotes in the wrong place are not guessed at', () => {
  for (const record of ['a"b', '"a"b', '"a', 'x,"a""', 'a,b"']) {
    assert.equal(csvFieldsOrUndefined(record, ','), undefined, record);
  }
});

test('a field in quotes may be empty, or consist of quotes', () => {
  assert.deepEqual(csvFieldsOrUndefined('"",b,"""",', ','), ['', 'b', '"', '']);
  assert.deepEqual(csvFieldsOrUndefined('""""', ','), ['"']);
});

const ends: [text: string, outcome: CsvRecordEnd['outcome'], at: number][] = [
  ['a,b\nc', 'complete', 3],
  ['a,\n', 'complete', 2],
  ['\n', 'complete', 0],
  ['"",""\n', 'complete', 5],
  ['""""\n', 'complete', 4],
  ['"a\n""b",c\r\n', 'complete', 10],
  ['"a"\r\n', 'complete', 4],
  ['"a"\r', 'unended', 3],
  ['"a"', 'unended', 2],
  ['a,', 'unended', 1],
  ['', 'unended', -1],
  ['"a\n', 'open', 2],
  ['"a""', 'open', 3],
  ['a"b\n', 'faulty', 1],
  ['"a"b\n', 'faulty', 3],
  ['"a"\r,b\n', 'faulty', 3],
];
test('a record ends at the first line break outside quotes', () => {
  for (const [text, outcome, at] of ends) {
    assert.deepEqual(findCsvRecordEnd(Buffer.from(text), ','), { outcome, at }, text);
  }
});

test('between tabs, as a spreadsheet copies cells, a quote inside a field stands for itself', () => {
  const record = 'Rex "the king"\t7\t"two\nlines"';
  assert.deepEqual(csvFieldsOrUndefined(record, '\t'), ['Rex "the king"', '7', 'two\nlines']);
  const end = findCsvRecordEnd(Buffer.from(`${record}\nnext`), '\t');
  assert.deepEqual(end, { outcome: 'complete', at: record.length });
});

test('a text that a spreadsheet would run gets a tab in front, and any text comes back exactly', () => {
  for (const text of ['=1+1', '+49', '-5', '@SUM', '\t=1', '\t\t@']) {
    assert.equal(guardFormula(text), `\t${text}`);
  }
  for (const text of ['Rex', '', ' =1', "'=1", '\tRex', 'a=b'])
    assert.equal(guardFormula(text), text);
  const start = fc.constantFrom('', '\t', '\t\t', '=', '\t=', '\t\t-', ' @');
  fc.assert(
    fc.property(start, fc.string({ unit: anyCharacter }), (before, text) => {
      assert.equal(unguardFormula(guardFormula(before + text)), before + text);
    }),
  );
});
