import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { csvFieldsOrUndefined, csvLine, guardFormula, readCsvLine, unguardFormula } from './csv.ts';

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

const lines: [line: string, outcome: ReturnType<typeof readCsvLine>][] = [
  ['a,b', 'complete'],
  ['a,', 'complete'],
  ['', 'complete'],
  ['"",""', 'complete'],
  ['""""', 'complete'],
  ['"a""b",c\r', 'complete'],
  ['"a"\r', 'complete'],
  ['"a', 'quoted'],
  ['"a""', 'quoted'],
  ['a,"', 'quoted'],
  ['a"b', 'faulty'],
  ['"a"b', 'faulty'],
  ['"a"\r,b', 'faulty'],
];
test('a line ends a record unless it ends inside quotes', () => {
  for (const [line, outcome] of lines) {
    assert.equal(readCsvLine(Buffer.from(line), ',', { startsQuoted: false }), outcome, line);
  }
});

const rests: [line: string, outcome: ReturnType<typeof readCsvLine>][] = [
  ['a', 'quoted'],
  ['', 'quoted'],
  ['a""', 'quoted'],
  ['"', 'complete'],
  ['a",b', 'complete'],
  ['","a"', 'complete'],
  ['"a', 'faulty'],
  [',"b', 'faulty'],
];
test('a line that begins inside quotes ends the record if they are closed', () => {
  for (const [line, outcome] of rests) {
    assert.equal(readCsvLine(Buffer.from(line), ',', { startsQuoted: true }), outcome, line);
  }
});

test('between tabs, as a spreadsheet copies cells, a quote inside a field stands for itself', () => {
  const record = 'Rex "the king"\t7\t"two\nlines"';
  assert.deepEqual(csvFieldsOrUndefined(record, '\t'), ['Rex "the king"', '7', 'two\nlines']);
  const [first = '', second = ''] = record.split('\n');
  assert.equal(readCsvLine(Buffer.from(first), '\t', { startsQuoted: false }), 'quoted');
  assert.equal(readCsvLine(Buffer.from(second), '\t', { startsQuoted: true }), 'complete');
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
