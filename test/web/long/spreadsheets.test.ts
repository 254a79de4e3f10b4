// What spreadsheets of several programs become, in the console and by `petstore import`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test as testOf, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { NewPet } from '../../../sdk/src/index.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { execute } from '../../../src/cli/execute.ts';
import { NEEDS_CHROMIUM } from '../../../harness/chromium.ts';
import { needsProgram } from '../../../harness/needs.ts';
import { openMany, Stage, test, visit } from '../stage.ts';

const MARK = '\uFEFF';

interface Spreadsheet {
  what: string;
  /** The text of the file. Cells that are pasted have no file. */
  text: string;
  encoding?: 'windows-1252' | 'utf-16le';
  isPasted?: true;
  animals: [name: string, categoryId: number | bigint, status?: NewPet['status']][];
  /** What the console shows: a choice of the columns, a note about the encoding. */
  shows: ('columns' | 'encoding')[];
}

const ROWS = ['Rex;7;sold', 'Löwe „König“;12;', 'Mimi, die Katze;7;pending'];
const GERMAN: Spreadsheet['animals'] = [
  ['Rex', 7, 'sold'],
  ['Löwe „König“', 12],
  ['Mimi, die Katze', 7, 'pending'],
];

const SPREADSHEETS: Spreadsheet[] = [
  {
    what: 'Excel, German, "CSV (Trennzeichen-getrennt)": semicolons in Windows-1252',
    text: `Tier;Kategorie;Status\r\n${ROWS.join('\r\n')}\r\n`,
    encoding: 'windows-1252',
    animals: GERMAN,
    shows: ['encoding', 'columns'],
  },
  {
    what: 'Excel, German, "CSV UTF-8": a byte order mark, other columns',
    text: `${MARK}Nr.;Tiername;Preis;Art-Nr.;Status\r\n1;Rex;12,50;7;sold\r\n2;Löwe „König“;1.200,00;12;\r\n3;Mimi, die Katze;;7;pending\r\n`,
    animals: GERMAN,
    shows: ['columns'],
  },
  {
    what: 'Excel, French, "CSV (séparateur : point-virgule)": no status',
    text: 'Nom;Catégorie\r\nÉtoile;3\r\nL’œil;4\r\n',
    encoding: 'windows-1252',
    animals: [
      ['Étoile', 3],
      ['L’œil', 4],
    ],
    shows: ['encoding', 'columns'],
  },
  {
    what: 'Excel, English, "CSV UTF-8" with the headings of the console',
    text: `${MARK}Name,Category,Status\r\nRex,7,Sold\r\n"Mimi, the cat",3,\r\n`,
    animals: [
      ['Rex', 7, 'sold'],
      ['Mimi, the cat', 3],
    ],
    shows: [],
  },
  {
    what: 'Excel, English, "Unicode Text": tabs in UTF-16, quotes and a line break in cells',
    text: `${MARK}Name\tCategory ID\tStatus\r\n"Tom ""the cat"""\t8\tavailable\r\n"Ada\nof two lines"\t9\tsold\r\n`,
    encoding: 'utf-16le',
    animals: [
      ['Tom "the cat"', 8, 'available'],
      ['Ada\nof two lines', 9, 'sold'],
    ],
    shows: [],
  },
  {
    what: 'Excel, cells that are pasted: quotes inside a cell stand alone',
    text: 'Pet\tKind\tState\nRex "the king"\t7\tsold\n"Ada\nof two lines"\t9\t\n',
    isPasted: true,
    animals: [
      ['Rex "the king"', 7, 'sold'],
      ['Ada\nof two lines', 9],
    ],
    shows: ['columns'],
  },
  {
    what: 'Excel, cells that are pasted without headings',
    text: 'Rex\t7\tSold\nTom\t8\tAvailable\n',
    isPasted: true,
    animals: [
      ['Rex', 7, 'sold'],
      ['Tom', 8, 'available'],
    ],
    shows: ['columns'],
  },
  {
    what: 'LibreOffice, UTF-8 with commas: a comma in a heading',
    text: '"Tier, Name","Art-Nr.",Status\n"Rex, der Hund",7,sold\nLöwe,12,\n',
    animals: [
      ['Rex, der Hund', 7, 'sold'],
      ['Löwe', 12],
    ],
    shows: ['columns'],
  },
  {
    what: 'LibreOffice, Windows-1252 with semicolons, without headings',
    text: '7;Bär;available\n7;Käfer;sold\n',
    encoding: 'windows-1252',
    animals: [
      ['Bär', 7, 'available'],
      ['Käfer', 7, 'sold'],
    ],
    shows: ['encoding', 'columns'],
  },
  {
    what: 'LibreOffice, all text cells in quotes',
    text: '"name";"categoryId";"status"\n"Rex";7;"sold"\n"say ""hi""";-3;\n',
    animals: [
      ['Rex', 7, 'sold'],
      ['say "hi"', -3],
    ],
    shows: [],
  },
  {
    what: 'Google Sheets, CSV: a line break in a cell, a heading with a space',
    text: 'Pet name,Category ID,Price,Status\r\n"Rex\nthe dog",7,$12.50,sold\r\nTom,8,,',
    animals: [
      ['Rex\nthe dog', 7, 'sold'],
      ['Tom', 8],
    ],
    shows: ['columns'],
  },
  {
    what: 'Google Sheets, TSV, Spanish',
    text: 'Nombre\tCategoría\tEstado\r\nNiño\t5\tpending\r\nÁguila\t6\tsold',
    animals: [
      ['Niño', 5, 'pending'],
      ['Águila', 6, 'sold'],
    ],
    shows: ['columns'],
  },
  {
    what: 'Numbers, CSV, German: empty rows at the end',
    text: 'Name;Kategorie-Nr.;Bemerkung\r\nRex;7;mag Kinder\r\n;;\r\n;;\r\n',
    animals: [['Rex', 7]],
    shows: ['columns'],
  },
  {
    what: 'Numbers, CSV, English: big numbers, and an id that is not the category',
    text: 'ID,Animal,Category\r\n10,Rex,9223372036854775807\r\n11,Tom,-1\r\n',
    animals: [
      ['Rex', 9223372036854775807n],
      ['Tom', -1],
    ],
    shows: ['columns'],
  },
  {
    what: 'the download of the console, with names that would be formulas',
    text: `${MARK}id,name,categoryId,status\r\n1,\t=1+1,7,sold\r\n2,\t\t=A1,8,available\r\n3,\t+49,9,available\r\n4,\t-5,9,available\r\n5,\t@SUM,9,available\r\n`,
    animals: [
      ['=1+1', 7, 'sold'],
      ['\t=A1', 8],
      ['+49', 9],
      ['-5', 9],
      ['@SUM', 9],
    ],
    shows: [],
  },
];

/** Every byte of Windows-1252 as a character. */
const WINDOWS_1252 = Array.from(
  new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte)),
);

function bytesOf({ text, encoding }: Spreadsheet): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (encoding === undefined) return Buffer.from(text);
  const bytes = Array.from(text, (character) => WINDOWS_1252.indexOf(character));
  assert.ok(!bytes.includes(-1), text);
  return Buffer.from(bytes);
}

function expected({ animals }: Spreadsheet) {
  return animals.map(([name, categoryId, status = 'available']) => {
    return { name, categoryId: BigInt(categoryId), status };
  });
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-spreadsheets-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function run(...args: string[]) {
  let [out, words] = ['', ''];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (words += text) };
  const code = await execute(COMMANDS, args, { env: {}, stdout, stderr });
  return { code, out, words };
}

/** The options that a refusal suggests, as a shell splits them. */
function suggested(words: string): string[] {
  const options = words.match(/--columns [^\n]+|--encoding windows-1252/)?.[0] ?? '';
  const split = execFileSync('sh', ['-c', `printf '%s\\n' ${options}`]).toString();
  return split.trimEnd().split('\n');
}

/** Options as a shell needs them. A value is quoted if it has more than letters. */
const quoted = (options: readonly string[]) =>
  options.map((each) => (/^[\w-]+$/.test(each) ? each : `'${each}'`)).join(' ');

/** Runs the command, and adds what each refusal suggests, until the file is imported. */
async function importAsSuggested(file: string, data: string): Promise<string[]> {
  const options: string[] = [];
  for (;;) {
    const { code, words } = await run('import', file, '--create', '--data', data, ...options);
    if (code === 0) return options;
    const more = suggested(words);
    assert.ok(more.length > 1 && !options.includes(more[0] ?? ''), words);
    options.push(...more);
  }
}

testOf(
  'petstore import reads 15 spreadsheets, with the options that its refusals suggest',
  async (t) => {
    const folder = newFolder(t);
    const page = new URL('../../../docs/catalogue.md', import.meta.url);
    const [, documented] =
      /petstore import animals\.csv (.*?) +# Excel, German/.exec(readFileSync(page, 'utf8')) ?? [];
    for (const [index, spreadsheet] of SPREADSHEETS.entries()) {
      const { what, shows } = spreadsheet;
      const file = join(folder, `${index}.csv`);
      const data = join(folder, String(index));
      writeFileSync(file, bytesOf(spreadsheet));
      const options = await importAsSuggested(file, data);
      const needed = { columns: '--columns', encoding: '--encoding' };
      assert.deepEqual(
        options.filter((option) => Object.values(needed).includes(option)).toSorted(),
        shows.map((each) => needed[each]).toSorted(),
        what,
      );
      if (index === 0) assert.equal(quoted(options), documented, what);
      const { out } = await run('export', '--data', data);
      const lines = expected(spreadsheet).map(({ name, categoryId, status }, at) => {
        const facts = `"name":${JSON.stringify(name)},"categoryId":${categoryId}`;
        return `{"id":${at + 1},${facts},"status":"${status}"}\n`;
      });
      assert.equal(out, lines.join(''), what);
    }
  },
);

const list = (page: Page) => page.getByLabel('Paste CSV, cells of a spreadsheet or JSON');

async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Choose a file' }).click();
  await (await chooser).setFiles({ name, mimeType: 'text/csv', buffer });
}

test('console › 15 spreadsheets are read, and each is added with one click', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  const all: ReturnType<typeof expected> = [];
  for (const spreadsheet of SPREADSHEETS) {
    const { what, text, isPasted, shows, animals } = spreadsheet;
    if (isPasted) await list(page).fill(text);
    else await choose(page, 'animals.csv', bytesOf(spreadsheet));
    const { length } = animals;
    const add = page.getByRole('button', {
      name: length === 1 ? 'Add 1 animal' : `Add ${length} animals`,
    });
    await add.waitFor();
    const hasChoice = await page.getByText('Which column is which?').isVisible();
    assert.equal(hasChoice, shows.includes('columns'), what);
    const hasNote = await page.getByText('Read as Windows-1252').isVisible();
    assert.equal(hasNote, shows.includes('encoding'), what);
    await add.click();
    const again = page.getByRole('button', { name: 'Add these again' });
    const another = page.getByRole('button', { name: 'Add another list' });
    await another.waitFor();
    // The same animal may be in several of the spreadsheets.
    while (await again.isVisible()) {
      await again.click();
      await another.waitFor();
    }
    await page.getByText('Finished. The report has every line.').waitFor();
    await another.click();
    all.push(...expected(spreadsheet));
  }
  const stored = await stage.client().pets.list({ limit: 100 }).toArray();
  const sorted = (animals: typeof all) =>
    animals.map((each) => [each.name, each.categoryId, each.status].join('|')).toSorted();
  assert.deepEqual(sorted(stored), sorted(all));
});

test('console › the columns of a table can be chosen, and each field has one', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  const chosen = () =>
    page.locator('.columns select').evaluateAll((all) => all.map(({ value }) => value));
  await list(page).fill('Rufname;Art;Gewicht;Name\nKing;Hund;7;Rex\nTiger;Katze;8;Tom\n');
  await page.getByText('Add 2 animals').waitFor();
  assert.deepEqual(await chosen(), ['', '', 'categoryId', 'name']);
  await page.getByLabel('Column 1, Rufname').selectOption('Name');
  assert.deepEqual(await chosen(), ['name', '', 'categoryId', '']);
  await page.getByText('name from "Rufname", category from "Gewicht"').waitFor();
  assert.equal(await page.locator('.columns .headings').count(), 1);
  await page.getByLabel('Column 2, Art').selectOption('Category');
  assert.deepEqual(await chosen(), ['name', 'categoryId', '', '']);
  await page.getByText('2 lines have a fault').waitFor();
  assert.equal(await page.locator('#many .primary').count(), 0);
  await page.getByLabel('Column 2, Art').selectOption('Not used');
  await page.getByText('Choose the column of the name and that of the category.').waitFor();
  await page.getByLabel('Column 3, Gewicht').selectOption('Category');
  await page.getByRole('button', { name: 'Add 2 animals' }).click();
  await page.getByText('Finished.').waitFor();
  const pets = await stage.client().pets.list();
  assert.deepEqual(
    pets.pets.map(({ name, categoryId }) => [name, categoryId]),
    [
      ['King', 7n],
      ['Tiger', 8n],
    ],
  );

  // Known headings can be overruled too.
  await page.getByRole('button', { name: 'Add another list' }).click();
  await list(page).fill('name,category,number\nAda,1,2\n');
  await page.getByText('What will be added').waitFor();
  await page.getByRole('button', { name: 'Choose other columns' }).click();
  assert.deepEqual(await chosen(), ['name', 'categoryId', '']);
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'SELECT');
  await page.getByLabel('Column 3, number').selectOption('Category');
  await page.getByRole('button', { name: 'Add 1 animal' }).click();
  await page.getByText('Finished.').waitFor();
  assert.equal((await stage.client().pets.list().last()).pets.at(-1)?.categoryId, 2n);
});

test('console › an Excel file, a picture and a table of one column are refused with what to do', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  const alert = page.locator('#many').getByRole('alert');
  await choose(
    page,
    'animals.xlsx',
    Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(2 ** 21)]),
  );
  await alert
    .getByText(/^This is an Excel file.*: copy its cells and paste them here\.$/)
    .waitFor();
  await choose(page, 'picture.csv', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]));
  await alert.getByText('This file is not text.').waitFor();
  assert.equal(await list(page).inputValue(), '');
  await list(page).fill('Rex\nTom\n');
  await alert.getByText('The first line must name its columns').waitFor();
});

test('D44: the form and the bulk add remove space around a name and refuse a blank one; a blank name is shown as such', async (t) => {
  const stage = await Stage.open(t, { pets: [{ name: ' \u200b', categoryId: 7 }] });
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByRole('button', { name: '(blank name)' }).waitFor();
  const fault = page.locator('#name-fault');
  for (const blank of [' ', '\u00a0\u3000', '\u200b']) {
    await page.getByLabel('Name', { exact: true }).fill(blank);
    await page.getByLabel('Category', { exact: true }).fill('7');
    await page.getByRole('button', { name: 'Add animal' }).click();
    await fault.getByText('Enter a name.').waitFor();
    assert.equal(await page.locator('#categoryId-fault').textContent(), '');
    await page.getByLabel('Name', { exact: true }).fill('x');
    assert.equal(await fault.textContent(), '');
  }
  await page.getByLabel('Name', { exact: true }).fill('  Rex the dog ');
  await page.getByRole('button', { name: 'Add animal' }).click();
  const outcome = page.locator('#add-outcome');
  await outcome.getByText('Rex the dog was added with the id 2.').waitFor();
  await outcome.getByText('The space around the name was removed.').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Tom');
  await page.getByRole('button', { name: 'Add animal' }).click();
  await outcome.getByText('Tom was added with the id 3.').waitFor();
  assert.equal(await outcome.getByText('The space').count(), 0);

  await openMany(page);
  await list(page).fill('name,category\n Ada\t,7\n\u00a0,8\n"\n",9\nBo,1\n');
  await page.getByText('Space was removed around 1 name.').waitFor();
  const faults = page.locator('#many .faults li');
  assert.deepEqual(await faults.allTextContents(), [
    'Line 3 Enter a name.',
    'Line 4 Enter a name.',
  ]);
  await page.getByRole('button', { name: 'Add 2 animals' }).click();
  await page.getByText('Finished.').waitFor();
  const pets = await stage.client().pets.list().toArray();
  assert.deepEqual(
    pets.map(({ name }) => name),
    [' \u200b', 'Rex the dog', 'Tom', 'Ada', 'Bo'],
  );
});

const FORMULAS = ['=1+1', '\t=1+1', '+49', '-5', '@SUM(A1)', '\t\t@x', '=A1,"B"', 'Löwe', '\tTab'];

async function download(page: Page): Promise<Buffer> {
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  return readFileSync(await (await saved).path());
}

test('console › names that begin with = + - @ are downloaded with a tab in front, and are the same when they are pasted again', async (t) => {
  const pets = FORMULAS.map((name) => ({ name, categoryId: 7 }));
  const stage = await Stage.open(t, { pets });
  const { page } = await visit(t, stage, { key: stage.key });
  await page.locator('#place', { hasText: `Animals 1–${FORMULAS.length}` }).waitFor();
  const file = await download(page);
  assert.equal(
    file.toString(),
    `${MARK}id,name,categoryId,status\r\n${FORMULAS.map((name, index) => {
      const cell = /^\t*[=+@-]/.test(name) ? `\t${name}` : name;
      const field = cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell;
      return `${index + 1},${field},7,available\r\n`;
    }).join('')}`,
  );
  await openMany(page);
  await choose(page, 'animals.csv', file);
  await page.getByRole('button', { name: `Add ${FORMULAS.length} animals` }).click();
  await page.getByText('Finished.').waitFor();
  const stored = await stage.client().pets.list().toArray();
  assert.deepEqual(
    stored.slice(FORMULAS.length).map(({ name }) => name),
    FORMULAS.map((name) => (name === '\tTab' ? 'Tab' : name)),
  );
});

/** Opens a CSV file in LibreOffice and saves it in another format, both with commas in UTF-8. */
function convert(file: string, to: string): string {
  const folder = join(file, '..', 'converted');
  const profile = `-env:UserInstallation=file://${folder}/profile`;
  const formats = ['--infilter=CSV:44,34,76,1', '--convert-to', to];
  execFileSync('soffice', [profile, '--headless', ...formats, '--outdir', folder, file], {
    stdio: 'ignore',
  });
  return join(folder, basename(file).replace(/csv$/, to.replace(/:.*/, '')));
}

testOf(
  'LibreOffice opens the names of a download as text, and what it saves is imported as it was',
  { skip: needsProgram('soffice') || NEEDS_CHROMIUM },
  async (t) => {
    const stage = await Stage.open(t, { pets: FORMULAS.map((name) => ({ name, categoryId: 7 })) });
    const { page } = await visit(t, stage, { key: stage.key });
    await page.locator('#place', { hasText: `Animals 1–${FORMULAS.length}` }).waitFor();
    const folder = newFolder(t);
    const plain = join(folder, 'plain.csv');
    writeFileSync(plain, (await run('export', '--format', 'csv', '--data', stage.data)).out);
    assert.match(readFileSync(convert(plain, 'fods'), 'utf8'), /table:formula=/, 'it runs these');

    const file = join(folder, 'animals.csv');
    writeFileSync(file, await download(page));
    assert.doesNotMatch(readFileSync(convert(file, 'fods'), 'utf8'), /table:formula=/);
    const saved = convert(file, 'csv:Text - txt - csv (StarCalc):44,34,76,1');
    const data = join(folder, 'data');
    assert.equal((await run('import', saved, '--create', '--data', data)).code, 0);
    const { out } = await run('export', '--data', data);
    const names = out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as NewPet).name);
    assert.deepEqual(names, FORMULAS);
  },
);
