// A list that was stopped or reloaded can be finished, and added again on purpose (D45).

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openMany, Stage, visit } from '../stage.ts';

/** A long list takes its time on a busy machine. */
const LIST_MS_MAX = 500_000;

export const list = (page: Page) => page.getByLabel('Paste CSV, cells of a spreadsheet or JSON');
export const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name }).click();

/** Sets the whole text at once. Typing 5,000 lines, as fill() does, takes a browser minutes. */
async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate(
    `((area) => { area.value = ${JSON.stringify(text)}; area.dispatchEvent(new Event('input', { bubbles: true })); })(document.getElementById('many-text'))`,
  );
}

export async function names(stage: Stage): Promise<string[]> {
  const pets = await stage.client().pets.list({ limit: 100 }).toArray();
  return pets.map(({ name }) => name);
}

export async function finished(page: Page, words: string): Promise<void> {
  await page.locator('#many .title').first().getByText(words).waitFor({ timeout: LIST_MS_MAX });
  await page.getByRole('button', { name: 'Add another list' }).waitFor({ timeout: LIST_MS_MAX });
}

/** Loads the page again, as a person would who confirms that it may be left. */
export async function reload(page: Page): Promise<void> {
  page.removeAllListeners('dialog');
  page.on('dialog', (dialog) => void dialog.accept());
  await page.reload();
}

/** As the console writes a count. */
const shown = (count: number) => count.toLocaleString('en-US');

/**
 * Stops a list by a reload, corrects one line, and pastes all again: each animal is there once. Then adds the
 * same list again on purpose: each is there twice.
 */
export async function addListTwice(t: TestContext, lineCount: number): Promise<void> {
  const stage = await Stage.open(t);
  // A profile of its own: this one accepts the question of the browser.
  const { page } = await visit(t, stage, { key: stage.key, locale: 'en-US' });
  await page.getByText('No animals yet').waitFor();
  const lines = Array.from(
    { length: lineCount },
    (_, index) => `Animal ${index + 1},${index % 50}`,
  );
  const text = ['Tier,Art', ...lines].join('\n');
  await openMany(page);
  await paste(
    page,
    text.replace(`Animal ${lineCount - 1},`, ',').replace('Animal 9,', 'Animal 8,'),
  );
  await page.getByText('Enter a name.').waitFor();
  await press(page, `Add ${shown(lineCount - 1)} animals`);
  while (
    Number(await page.evaluate(`document.querySelector('#many progress').value`)) <
    lineCount / 4
  ) {
    await setTimeout(50);
  }
  await reload(page);

  await page.locator('#place', { hasText: 'Animals 1–20' }).waitFor();
  const before = (await names(stage)).length;
  assert.ok(before >= lineCount / 4 && before < lineCount - 1, `${before} animals`);
  await openMany(page);
  await paste(page, text.replace('Animal 9,', 'Animal 8,'));
  await page.getByText(`of these ${shown(lineCount)} lines were added before`).waitFor();
  await press(page, `Add ${shown(lineCount)} animals`);
  await finished(
    page,
    `${shown(lineCount - before)} of ${shown(lineCount)} added, ${shown(before)} already there`,
  );
  const expected = lines.map((line) => line.replace(/,.*/, '').replace(/^Animal 9$/, 'Animal 8'));
  assert.deepEqual((await names(stage)).toSorted(), expected.toSorted());
  t.diagnostic(`${before} animals before the reload, ${lineCount - before} after it`);

  await press(page, 'Add another list');
  await paste(page, text.replace('Animal 9,', 'Animal 8,'));
  await page.locator('.seen').waitFor();
  await press(page, `Add ${shown(lineCount)} animals`);
  await finished(page, `0 of ${shown(lineCount)} added, ${shown(lineCount)} already there`);
  await page.locator('#many li', { hasText: 'Line 2 Animal 1, already added as 1' }).waitFor();
  assert.equal((await names(stage)).length, lineCount);
  await press(page, 'Add these again');
  await finished(page, `${shown(lineCount)} of ${shown(lineCount)} added`);
  assert.deepEqual((await names(stage)).toSorted(), [...expected, ...expected].toSorted());
}
