import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOf, parseColumns } from './columns.ts';
import { detectLayout, LAYOUT_BYTES, layoutWords, UnknownColumns } from './layout.ts';

test('a heading is a field by its exact name, without case', () => {
  for (const heading of ['name', 'NAME', ' Name ']) assert.equal(fieldOf(heading), 'name');
  for (const heading of ['category', 'categoryId', 'CATEGORYID']) {
    assert.equal(fieldOf(heading), 'categoryId');
  }
  assert.equal(fieldOf('Status'), 'status');
  for (const heading of ['', 'id', 'names', 'category id', 'category_id', 'Tier', 'Art']) {
    assert.equal(fieldOf(heading), undefined, heading);
  }
});

test('columns are two or three different numbers, counted from 1', () => {
  assert.deepEqual(parseColumns('3,1'), { name: 2, categoryId: 0, status: undefined });
  assert.deepEqual(parseColumns('2,3,10'), { name: 1, categoryId: 2, status: 9 });
  for (const text of ['', '1', '1,1', '1,2,2', '2,1,2', '0,1', '1,2,3,4', '1, 2', '1,b', '1,2,']) {
    assert.equal(parseColumns(text), undefined, text);
  }
});

function unknown(text: string): UnknownColumns {
  try {
    detectLayout(Buffer.from(text).subarray(0, LAYOUT_BYTES));
  } catch (error) {
    if (error instanceof UnknownColumns) return error;
    throw error;
  }
  return assert.fail('the columns are known');
}

test('a table with unknown headings has its first 20 rows as a sample', () => {
  const { sample } = unknown(`Tier;Gewicht, kg;Art\n${'Rex;3,5;7\n'.repeat(30)}`);
  assert.equal(sample.separator, ';');
  assert.equal(sample.rows.length, 20);
  assert.deepEqual(sample.rows[0], ['Tier', 'Gewicht, kg', 'Art']);
  // The last record of the first bytes is cut off.
  const long = unknown(`Tier\tArt\n${`${'x'.repeat(9_000)}\t7\n`.repeat(10)}`);
  assert.equal(long.sample.rows.length, 8);
});

const separators: [text: string, separator: string][] = [
  ['"Tier, Name","Art-Nr.",Status\nRex,7,sold', ','],
  ['Rex, the dog;7\nTom;8', ';'],
  ['Rex; Tom,7\nAda,8', ','],
  ['a b\tc, d\n1\t2\n', '\t'],
  ['Tier;name\nRex,7;8', ';'],
  ['Wer;Was\nRex\nTom;8;x\n', ';'],
];
test('the separator is that of the known headings, or else one that gives every line as many cells', () => {
  for (const [text, separator] of separators) {
    assert.equal(unknown(text).sample.separator, separator, text);
  }
});

test('what the first line names is known, and nothing else is guessed', () => {
  const { guess } = unknown('Tier,Category,State\nRex,7,sold\n').sample;
  assert.deepEqual(guess, { name: undefined, categoryId: 1, status: undefined });
});

const columns = { name: 2, categoryId: 1, status: undefined };

test('chosen columns win over the headings, and the first line is an animal if its category is a number', () => {
  const table = detectLayout(Buffer.from('name,category,Rufname\nRex,7,King\n'), columns);
  assert.ok(table.format === 'csv' && table.hasHeadings && table.isChosen);
  assert.equal(
    layoutWords(table),
    'A table separated by commas: name from "Rufname", category from "category". Not used: name.',
  );
  const rows = detectLayout(Buffer.from('Rex,7,King\nTom,8,Tiger\n'), columns);
  assert.ok(rows.format === 'csv' && !rows.hasHeadings);
  assert.equal(
    layoutWords(rows),
    'A table separated by commas: name from column 3, category from column 2.',
  );
});

test('chosen columns that the headings name anyway are the same table', () => {
  const start = Buffer.from('category,name\n7,Rex\n');
  const same = { name: 1, categoryId: 0, status: undefined };
  assert.deepEqual(detectLayout(start, same), detectLayout(start));
});

test('a column that the table does not have is refused', () => {
  const message = /^PetFileError: The table has no column 3: it has 2\.$/;
  assert.throws(() => detectLayout(Buffer.from('a,b\n'), columns), message);
});
