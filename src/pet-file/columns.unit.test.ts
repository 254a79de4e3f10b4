import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeColumns, guessColumns, withChoice } from './columns.ts';
import { detectLayout, LAYOUT_BYTES, layoutWords, sampleTable, UnknownColumns } from './layout.ts';

const guesses: [what: string, text: string, guess: (number | undefined)[]][] = [
  ['German headings', 'Tier;Kategorie\nRex;7\nTom;7', [0, 1, undefined]],
  ['French headings', 'Nom;Catégorie;État\nRex;7;sold', [0, 1, 2]],
  ['a comma in a heading', '"Tier, Name","Art-Nr.",Status\nRex,7,sold', [0, 1, 2]],
  ['no headings', 'Rex,7,sold\nTom,8,', [0, 1, 2]],
  ['no headings, the category first', '7\tRex\n7\tTom\n', [1, 0, undefined]],
  ['one line without headings', 'Rex;7', [0, 1, undefined]],
  ['a column that counts the rows', '1;Rex;7\n2;Tom;9\n3;Ada;7', [1, 2, undefined]],
  ['a column that is called a number', 'Nr.;Tier;Gruppe\n30;Rex;7\n12;Tom;8', [1, 2, undefined]],
  ['prices and dates', 'Seit;Preis;Wer;Was\n1.2.2024;12,50;Rex;7', [2, 3, undefined]],
  ['statuses in other words', 'Tier;Art;Status\nRex;7;verkauft\nTom;8;', [0, 1, undefined]],
  ['categories in words', 'Tier;Kategorie\nRex;Hunde\nTom;Katzen', [0, 1, undefined]],
  [
    'a heading over words, and numbers elsewhere',
    'Wer;Art;Nummer\nRex;Hund;7\nTom;Hund;7',
    [0, 2, undefined],
  ],
  ['words alone', 'red,blue\ngreen,yellow', [0, undefined, undefined]],
  ['numbers alone', '1,2\n3,4', [undefined, 0, undefined]],
  ['rows of several lengths', 'Wer;Was\nRex\nTom;8;x\n', [0, 1, undefined]],
];
for (const [what, text, guess] of guesses) {
  test(`the columns of a table are guessed from its headings and cells: ${what}`, () => {
    const { name, categoryId, status } = sampleTable(Buffer.from(text)).guess;
    assert.deepEqual([name, categoryId, status], guess);
  });
}

test('a guess is complete with a name and a category, and nothing is guessed from nothing', () => {
  const none = { name: undefined, categoryId: undefined, status: undefined };
  assert.deepEqual(guessColumns([]), none);
  assert.equal(completeColumns({ ...none, name: 0 }), undefined);
  assert.deepEqual(completeColumns({ ...none, name: 0, categoryId: 1 }), {
    name: 0,
    categoryId: 1,
    status: undefined,
  });
});

test('a field has one column, and a column one field', () => {
  const guess = { name: 0, categoryId: 1, status: 2 };
  assert.deepEqual(withChoice(guess, 0, 'categoryId'), {
    name: undefined,
    categoryId: 0,
    status: 2,
  });
  assert.deepEqual(withChoice(guess, 3, 'name'), { name: 3, categoryId: 1, status: 2 });
  assert.deepEqual(withChoice(guess, 2, undefined), { name: 0, categoryId: 1, status: undefined });
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

test('a table with unknown headings has its first 20 rows as a sample, and its separator is that of the columns', () => {
  const { sample } = unknown(`Tier;Gewicht, kg;Art\n${'Rex;3,5;7\n'.repeat(30)}`);
  assert.equal(sample.separator, ';');
  assert.equal(sample.rows.length, 20);
  assert.deepEqual(sample.rows[0], ['Tier', 'Gewicht, kg', 'Art']);
  // The last record of the first bytes is cut off.
  const long = unknown(`Tier\tArt\n${`${'x'.repeat(9_000)}\t7\n`.repeat(10)}`);
  assert.equal(long.sample.rows.length, 8);
});

const wide = (first: string) => Buffer.from(`${first}${',x'.repeat(100)}\n`);

test('a table of over 100 columns with unknown headings is refused, and one with known headings is not', () => {
  assert.throws(() => detectLayout(wide('Tier')), /over 100 columns/);
  assert.throws(() => detectLayout(wide('Tier'), { choose: () => assert.fail() }), /over 100 col/);
  assert.equal(detectLayout(wide('name,category')).format, 'csv');
});

const choosing = (name: number, categoryId: number) => () => ({
  name,
  categoryId,
  status: undefined,
});

test('chosen columns win over the headings, and the first line is an animal if its category is a number', () => {
  const choose = choosing(2, 1);
  const table = detectLayout(Buffer.from('name,category,Rufname\nRex,7,King\n'), { choose });
  assert.ok(table.format === 'csv' && table.hasHeadings && table.isChosen);
  assert.equal(
    layoutWords(table),
    'A table separated by commas: name from "Rufname", category from "category". Not used: name.',
  );
  const rows = detectLayout(Buffer.from('Rex,7,King\nTom,8,Tiger\n'), { choose });
  assert.ok(rows.format === 'csv' && !rows.hasHeadings);
  assert.equal(
    layoutWords(rows),
    'A table separated by commas: name from column 3, category from column 2.',
  );
});

test('chosen columns that the headings name anyway are the same table', () => {
  const start = Buffer.from('category,name\n7,Rex\n');
  const choose = choosing(1, 0);
  assert.deepEqual(detectLayout(start, { choose }), detectLayout(start));
});

test('a separator in a heading in quotes mixes nothing', () => {
  assert.match(unknown('"Tier, Name","Art-Nr.",Status\nRex,7,sold').message, /none is called name/);
  assert.match(
    unknown('name,categoryId,status;colour\nRex,7,a;b').message,
    /^The first line mixes/,
  );
});
