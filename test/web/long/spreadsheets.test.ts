// What spreadsheets of several programs become, in the console and by `petstore import`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test as testOf } from 'node:test';
import type { Page } from 'playwright-core';
import type { NewPet } from '../../../sdk/src/index.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { execute } from '../../../src/cli/execute.ts';
import { NEEDS_CHROMIUM } from '../../../harness/chromium.ts';
import { needsProgram } from '../../../harness/needs.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { ListCard } from '../list-card.ts';
import { Stage, test, visit } from '../stage.ts';

const MARK = '\uFEFF';

interface Spreadsheet {
  what: string;
  /** The text of the file. Cells that are pasted have no file. */
  text: string;
  encoding?: 'windows-1252' | 'utf-16le';
  isPasted?: true;
  animals: [name: string, categoryId: number | bigint, status?: NewPet['status']][];
  /** The numbers of the columns, where the headings do not say them. */
  columns?: string;
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
    columns: '1,2,3',
  },
  {
    what: 'Excel, German, "CSV UTF-8": a byte order mark, other columns',
    text: `${MARK}Nr.;Tiername;Preis;Art-Nr.;Status\r\n1;Rex;12,50;7;sold\r\n2;Löwe „König“;1.200,00;12;\r\n3;Mimi, die Katze;;7;pending\r\n`,
    animals: GERMAN,
    columns: '2,4,5',
  },
  {
    what: 'Excel, French, "CSV (séparateur : point-virgule)": no status',
    text: 'Nom;Catégorie\r\nÉtoile;3\r\nL’œil;4\r\n',
    encoding: 'windows-1252',
    animals: [
      ['Étoile', 3],
      ['L’œil', 4],
    ],
    columns: '1,2',
  },
  {
    what: 'Excel, English, "CSV UTF-8" with the headings of the console',
    text: `${MARK}Name,Category,Status\r\nRex,7,Sold\r\n"Mimi, the cat",3,\r\n`,
    animals: [
      ['Rex', 7, 'sold'],
      ['Mimi, the cat', 3],
    ],
  },
  {
    what: 'Excel, English, "Unicode Text": tabs in UTF-16, quotes and a line break in cells',
    text: `${MARK}Name\tCategory ID\tStatus\r\n"Tom ""the cat"""\t8\tavailable\r\n"Ada\nof two lines"\t9\tsold\r\n`,
    encoding: 'utf-16le',
    animals: [
      ['Tom "the cat"', 8, 'available'],
      ['Ada\nof two lines', 9, 'sold'],
    ],
    columns: '1,2,3',
  },
  {
    what: 'Excel, cells that are pasted: quotes inside a cell stand alone',
    text: 'Pet\tKind\tState\nRex "the king"\t7\tsold\n"Ada\nof two lines"\t9\t\n',
    isPasted: true,
    animals: [
      ['Rex "the king"', 7, 'sold'],
      ['Ada\nof two lines', 9],
    ],
    columns: '1,2,3',
  },
  {
    what: 'Excel, cells that are pasted without headings',
    text: 'Rex\t7\tSold\nTom\t8\tAvailable\n',
    isPasted: true,
    animals: [
      ['Rex', 7, 'sold'],
      ['Tom', 8, 'available'],
    ],
    columns: '1,2,3',
  },
  {
    what: 'LibreOffice, UTF-8 with commas: a comma in a heading',
    text: '"Tier, Name","Art-Nr.",Status\n"Rex, der Hund",7,sold\nLöwe,12,\n',
    animals: [
      ['Rex, der Hund', 7, 'sold'],
      ['Löwe', 12],
    ],
    columns: '1,2,3',
  },
  {
    what: 'LibreOffice, Windows-1252 with semicolons, without headings',
    text: '7;Bär;available\n7;Käfer;sold\n',
    encoding: 'windows-1252',
    animals: [
      ['Bär', 7, 'available'],
      ['Käfer', 7, 'sold'],
    ],
    columns: '2,1,3',
  },
  {
    what: 'LibreOffice, all text cells in quotes',
    text: '"name";"categoryId";"status"\n"Rex";7;"sold"\n"say ""hi""";-3;\n',
    animals: [
      ['Rex', 7, 'sold'],
      ['say "hi"', -3],
    ],
  },
  {
    what: 'Google Sheets, CSV: a line break in a cell, a heading with a space',
    text: 'Pet name,Category ID,Price,Status\r\n"Rex\nthe dog",7,$12.50,sold\r\nTom,8,,',
    animals: [
      ['Rex\nthe dog', 7, 'sold'],
      ['Tom', 8],
    ],
    columns: '1,2,4',
  },
  {
    what: 'Google Sheets, TSV, Spanish',
    text: 'Nombre\tCategoría\tEstado\r\nNiño\t5\tpending\r\nÁguila\t6\tsold',
    animals: [
      ['Niño', 5, 'pending'],
      ['Águila', 6, 'sold'],
    ],
    columns: '1,2,3',
  },
  {
    what: 'Numbers, CSV, German: empty rows at the end',
    text: 'Name;Kategorie-Nr.;Bemerkung\r\nRex;7;mag Kinder\r\n;;\r\n;;\r\n',
    animals: [['Rex', 7]],
    columns: '1,2',
  },
  {
    what: 'Numbers, CSV, English: big numbers, and an id that is not the category',
    text: 'ID,Animal,Category\r\n10,Rex,9223372036854775807\r\n11,Tom,-1\r\n',
    animals: [
      ['Rex', 9223372036854775807n],
      ['Tom', -1],
    ],
    columns: '2,3',
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

async function run(...args: string[]) {
  let [out, words] = ['', ''];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (words += text) };
  const code = await execute(COMMANDS, args, { env: {}, stdout, stderr });
  return { code, out, words };
}

/** The options that the file needs. */
function optionsFor({ columns, encoding }: Spreadsheet): string[] {
  return [
    ...(columns === undefined ? [] : ['--columns', columns]),
    ...(encoding === 'windows-1252' ? ['--encoding', encoding] : []),
  ];
}

testOf(
  'petstore import reads 15 spreadsheets, with the columns and the encoding that their files do not say',
  async (t) => {
    const folder = temporaryFolder(t);
    const page = new URL('../../../docs/catalogue.md', import.meta.url);
    const [, documented] =
      /petstore import animals\.csv (.*?) +# Excel, German/.exec(readFileSync(page, 'utf8')) ?? [];
    for (const [index, spreadsheet] of SPREADSHEETS.entries()) {
      const { what } = spreadsheet;
      const file = join(folder, `${index}.csv`);
      const data = join(folder, String(index));
      writeFileSync(file, bytesOf(spreadsheet));
      const options = optionsFor(spreadsheet);
      if (index === 0) assert.equal(options.join(' '), documented, what);
      const add = ['import', file, '--create', '--data', data];
      if (options.length > 0) assert.equal((await run(...add)).code, 1, what);
      assert.equal((await run(...add, ...options)).code, 0, what);
      const { out } = await run('export', '--data', data);
      const lines = expected(spreadsheet).map(({ name, categoryId, status }, at) => {
        const facts = `"name":${JSON.stringify(name)},"categoryId":${categoryId}`;
        return `{"id":${at + 1},${facts},"status":"${status}"}\n`;
      });
      assert.equal(out, lines.join(''), what);
    }
  },
);

async function chooseColumns(card: ListCard, columns: string): Promise<void> {
  for (const [at, number] of columns.split(',').entries()) {
    const field = ['Name', 'Category', 'Status'][at] ?? '';
    await card.card.getByLabel(field, { exact: true }).selectOption(number);
  }
}

test('console › 15 spreadsheets are read, and each is added with one click', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  const card = await ListCard.open(page);
  const all: ReturnType<typeof expected> = [];
  for (const spreadsheet of SPREADSHEETS) {
    const { what, text, isPasted, columns, encoding, animals } = spreadsheet;
    if (isPasted) await card.paste(text);
    else await card.choose('animals.csv', bytesOf(spreadsheet));
    if (encoding === 'windows-1252') await card.press('Read it as Windows-1252');
    const chooser = card.card.locator('details[open]');
    if (columns !== undefined) {
      await chooser.waitFor();
      await chooseColumns(card, columns);
    }
    const words = animals.length === 1 ? '1 animal' : `${animals.length} animals`;
    await card.says(`Add ${words}`);
    assert.equal((await chooser.count()) > 0, columns !== undefined, what);
    await card.press(`Add ${words}`);
    await card.says(`${words} ${animals.length === 1 ? 'was' : 'were'} added.`);
    all.push(...expected(spreadsheet));
  }
  const stored = await stage.client().pets.list({ limit: 100 }).toArray();
  assert.deepEqual(
    stored.map(({ name, categoryId, status }) => ({ name, categoryId, status })),
    all,
  );
});

test('D44: the form and the card for lists remove space around a name and refuse a blank one; a blank name is shown as such', async (t) => {
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

  const card = await ListCard.open(page);
  await card.paste('name,category\n Ada\t,7\n\u00a0,8\n"\n",9\nBo,1\n');
  await card.press('Add the 2 without a fault');
  await card.says('2 animals were added.');
  assert.deepEqual(await card.faults(), [
    'Line 2 name must have a character that can be seen.',
    'Line 3 name must have a character that can be seen.',
  ]);
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
  const card = await ListCard.open(page);
  await card.choose('animals.csv', file);
  await card.press(`Add ${FORMULAS.length} animals`);
  await card.says(`${FORMULAS.length} animals were added.`);
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
    const folder = temporaryFolder(t);
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
