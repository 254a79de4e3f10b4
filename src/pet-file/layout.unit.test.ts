import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detectLayout, LAYOUT_BYTES, layoutWords, PetFileError } from './layout.ts';
import { newPetReader, unitOf } from './pet-reader.ts';
import { RECORD_BYTES_MAX } from './records.ts';

interface Reading {
  chunkBytes?: number;
  linesBefore?: number;
}

/** Reads a text as the command and the console do, in chunks of so many bytes. */
function read(
  text: string | Uint8Array,
  { chunkBytes = 1_000_000, linesBefore = 0 }: Reading = {},
) {
  const bytes = Buffer.from(text);
  const layout = detectLayout(bytes.subarray(0, LAYOUT_BYTES));
  const reader = newPetReader(layout, linesBefore);
  const pieces = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    pieces.push(...reader.push(bytes.subarray(at, at + chunkBytes)));
  }
  pieces.push(...reader.end());
  assert.ok(
    pieces.every((piece) => piece.byteCount > 0),
    'A piece without bytes stores nothing.',
  );
  return {
    layout,
    pets: pieces.flatMap(({ pets }) => pets),
    lines: pieces.reduce((sum, { lines }) => sum + lines, 0),
    faults: pieces.flatMap(({ faults }) => faults.map(({ line, reason }) => [line, reason])),
    byteCount: pieces.reduce((sum, piece) => sum + piece.byteCount, 0),
  };
}

const REX = { name: 'Rex', categoryId: 7n, status: 'sold' };
const TOM = { name: 'Tom, the cat', categoryId: -8n, status: 'available' };

const lists: [what: string, text: string][] = [
  ['commas', 'name,categoryId,status\nRex,7,sold\n"Tom, the cat",-8,\n'],
  ['semicolons', 'name;categoryId;status\r\nRex;7;sold\r\nTom, the cat;-8;available\r\n'],
  [
    'tabs, as a spreadsheet copies cells',
    'Name\tCategory\tStatus\nRex\t7\tSold\nTom, the cat\t-8\t',
  ],
  [
    'the headings of the console',
    'Id\tName\tCategory\tStatus\n9\tRex\t7\tSold\n10\tTom, the cat\t-8\tAvailable',
  ],
  [
    'spaces around headings and values',
    ' name ; category ; STATUS \nRex; 7 ; Sold \nTom, the cat;-8; \n',
  ],
  [
    'quoted headings and a byte order mark',
    '\uFEFF"status";"CATEGORYID";"Name"\n"SOLD";"7";"Rex"\n;-8;Tom, the cat',
  ],
  [
    'other columns, one with commas in its heading',
    'name;Size (w, h, d, in cm);category;status\nRex;3,5;7;sold\nTom, the cat;;-8;',
  ],
  [
    'empty lines and empty rows',
    '\n\nname;categoryId;status\n;;\nRex;7;sold\n\nTom, the cat;-8;\n;;\n;\n',
  ],
  [
    'one JSON object per line',
    '{"name":"Rex","categoryId":7,"status":"sold","id":3}\n{"name":"Tom, the cat","categoryId":-8}',
  ],
  [
    'JSON with other fields',
    '{"name":"Rex","categoryId":7,"status":"Sold","colour":"red","legs":4}\n{"name":"Tom, the cat","categoryId":-8,"category":3}',
  ],
  [
    'a JSON array, as the interface returns it',
    '[{"id":1,"name":"Rex","categoryId":7,"status":"sold"},{"id":2,"name":"Tom, the cat","categoryId":-8,"status":"available"}]',
  ],
  [
    'a JSON array over several lines',
    '\uFEFF\n[\n  {"name": "Rex", "categoryId": 7, "status": "Sold"},\n  {"name": "Tom, the cat", "categoryId": -8}\n]\n',
  ],
];
for (const [what, text] of lists) {
  test(`a list is read with ${what}, however its bytes arrive`, () => {
    for (const chunkBytes of [1, 7, 1_000]) {
      const { pets, faults, byteCount } = read(text, { chunkBytes });
      assert.deepEqual({ pets, faults }, { pets: [REX, TOM], faults: [] });
      assert.equal(byteCount, Buffer.byteLength(text));
    }
  });
}

const refused: [what: string, text: string | Uint8Array, reason: RegExp][] = [
  [
    'two columns for one field',
    'name,category,categoryId\nRex,7,7',
    /must name its columns.*: two columns are for categoryId\.$/,
  ],
  [
    'no column for the category',
    'name,kind\nRex,7',
    /must name its columns.*none is called categoryId or category\.$/,
  ],
  [
    'no column for the name',
    'pet;category\nRex;7',
    /must name its columns.*none is called name\.$/,
  ],
  ['no header at all', 'Rex,7,sold\nTom,8,sold', /must name its columns/],
  [
    'quotes in the wrong place of the header',
    '"name,categoryId\nRex,7',
    /^The first line opens a quoted field that is not closed properly/,
  ],
  [
    'quotes in the wrong place of the header of a long file',
    `"name,categoryId\n${'Rex,7\n'.repeat(20_000)}`,
    /^The first line opens a quoted field that is not closed properly/,
  ],
  [
    'a header that is too long',
    `name,categoryId${' '.repeat(RECORD_BYTES_MAX)}\nRex,7`,
    /is over 65536 bytes long/,
  ],
  [
    'a header that is not UTF-8',
    Buffer.from('n\u00e4me,categoryId\n', 'latin1'),
    /is not valid UTF-8/,
  ],
  [
    'a JSON array that is not closed',
    '[{"name":"Rex","categoryId":7}',
    /^The file is not one valid JSON array \(Expected .*\)\.$/,
  ],
  [
    'a JSON array that is not UTF-8',
    Buffer.from('["\u00e4"]', 'latin1'),
    /is not valid UTF-8: if it is Windows-1252, name the encoding windows-1252\.$/,
  ],
  ['a JSON array with something behind it', '[]\n[]', /^The file is not one valid JSON array/],
];
for (const [what, text, reason] of refused) {
  test(`a list is refused as a whole for ${what}`, () => {
    assert.throws(
      () => read(text),
      (error) => error instanceof PetFileError && reason.test(error.message),
    );
  });
}

test('a header may be as long as a record', () => {
  const header = 'name,categoryId'.padEnd(RECORD_BYTES_MAX);
  assert.deepEqual(read(`${header}\nRex,7\n`).faults, []);
});

test('faults are named by the lines on which they start', () => {
  const { faults, lines } = read('name,category\n"Rex\nthe dog",x\n\nTom,', { chunkBytes: 5 });
  assert.deepEqual(
    faults.map(([line]) => line),
    [2, 5],
  );
  assert.equal(lines, 4, 'the last line has no line break');
});

test('a line that mixes separators is refused with its number and the reason', () => {
  const table = read('name;categoryId\nRex;7\nTom,8\nAda;8;sold\n');
  assert.deepEqual(table.faults, [
    [3, 'The line has 1 field: it must have 2, one for each column of the header.'],
    [4, 'The line has 3 fields: it must have 2, one for each column of the header.'],
  ]);
});

test('an item of a JSON array is refused with its number and the reason', () => {
  const { layout, faults, pets } = read(
    '[{"name":"Rex","categoryId":1e2},1,{"name":"","categoryId":7},null,"Rex"]',
  );
  assert.equal(unitOf(layout), 'item');
  assert.deepEqual(
    pets.map(({ categoryId }) => categoryId),
    [100n],
  );
  assert.match(String(faults[0]), /^2,The item must be a JSON object, not /);
  assert.match(String(faults[1]), /^3,name must be /);
  assert.match(String(faults[2]), /^4,The item must be a JSON object, not /);
  assert.match(String(faults[3]), /^5,The item must be a JSON object, not /);
});

test('a JSON array of over 16 MiB is refused, and the message names jq', () => {
  const start = Buffer.from('[');
  const reader = newPetReader(detectLayout(start));
  const blank = Buffer.alloc(1024 * 1024, ' ');
  for (let mebibyte = 0; mebibyte < 16; mebibyte += 1) reader.push(blank);
  assert.throws(() => reader.push(start), /^PetFileError: .* over 16 MiB: .*jq -c '\.\[\]'\.$/);
});

test('a JSON array is continued behind the items that were read before', () => {
  const items = Array.from(
    { length: 2_500 },
    (_, index) => `{"name":"${index + 1}","categoryId":1}`,
  );
  const text = `[${items.join(',\n')}]`;
  const { pets, lines, byteCount } = read(text, { linesBefore: 1_000 });
  const names = Array.from({ length: 1_500 }, (_, index) => `${index + 1_001}`);
  assert.deepEqual(
    pets.map(({ name }) => name),
    names,
  );
  assert.equal(lines, 1_500);
  // Its share of the file, as far as whole bytes allow.
  assert.equal(byteCount, text.length - Math.floor((text.length * 1_000) / 2_500));
});

function words(text: string): string {
  return layoutWords(detectLayout(Buffer.from(text)));
}

test('people are told which column was taken for what, and which was not used', () => {
  assert.equal(
    words('Id\t Name\tCategoryId\tStatus\tColour\n'),
    'A table separated by tabs: name from "Name", category from "CategoryId", status from "Status". Not used: Id, Colour.',
  );
  assert.equal(
    words('category,name'),
    'A table separated by commas: name from "name", category from "category".',
  );
  assert.equal(words('{}'), 'One JSON object per line.');
  assert.equal(words('[]'), 'A JSON array.');
});

test('people are told nothing of a column without a heading, and the start of a long heading', () => {
  assert.doesNotMatch(words('name,,category'), /Not used/);
  assert.match(words('！,name,category'), / Not used: ！\.$/);
  const start = Buffer.from(`${'x'.repeat(41)},name,category`);
  const columns = { name: 0, categoryId: 2, status: undefined };
  assert.match(layoutWords(detectLayout(start, columns)), /name from "x{40}…", category/);
});

test('the separator of a long table is found also where its headings are in quotes', () => {
  const table = `"name";"category"\n${'Rex;7\n'.repeat(20_000)}`;
  assert.match(words(table), /^A table separated by semicolons: name from "name", category /);
});

test('a file without animals has any format', () => {
  for (const text of ['', '\uFEFF', ' \r\n\t']) {
    assert.equal(words(text), 'One JSON object per line.');
  }
});
