// What people type and paste, and what a spreadsheet makes of a download.

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

async function run(...args: string[]) {
  let [out, words] = ['', ''];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (words += text) };
  const code = await execute(COMMANDS, args, { env: {}, stdout, stderr });
  return { code, out, words };
}

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
  await card.press('Add the 2 animals without a fault');
  await card.says('2 animals were added.');
  assert.deepEqual(await card.faults(), ['Line 2 Enter a name.', 'Line 3 Enter a name.']);
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
