// What a person, or their screen reader, finds in the states of the console. Each heading of states.txt is one of them.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { Recording } from '../golden/recording.ts';
import { ConsolePage } from './console-page.ts';
import { Stage, test, visit } from './stage.ts';

const PETS = [
  { name: 'Bella', categoryId: 7 },
  { name: 'Carl', categoryId: 8, status: 'pending' },
  { name: 'Dora', categoryId: 9223372036854775807n, status: 'sold' },
] as const;

type Go = (console: ConsolePage, stage: Stage) => Promise<void>;

/** Each from the one before. */
const STATES: Record<string, Go> = {
  'the key is asked for': async ({ page }) => {
    await page.getByLabel('API key').waitFor();
  },
  'a key that may only read': async (console, stage) => {
    await console.signIn(await stage.newKey('pets:read'));
    await console.listSays('Animals 1–3 of 3');
  },
  'the list of a key that may change animals': async (console, stage) => {
    await console.press('Use another key');
    await console.signIn(stage.key);
    await console.listSays('Animals 1–3 of 3');
  },
  'two animals are selected': async (console) => {
    await console.select('Bella', 'Carl');
  },
  'they were sold, which can be undone': async (console) => {
    await console.page.locator('#selection').getByRole('button', { name: 'Sold' }).click();
    await console.undo().waitFor();
  },
  'an animal is open': async (console) => {
    await console.open('Dora');
  },
  'a removal is asked about': async (console) => {
    await console.press('Remove …');
  },
  'somebody else has changed the animal': async (console, stage) => {
    await stage.run(['catalogue', 'set-status', '3', '--to', 'pending', ...stage.place]);
    await console.press('Remove it');
    await console.says('Dora was changed meanwhile');
  },
};

/** The dialog, or what is new in the page. */
async function shownIn(page: Page): Promise<string> {
  if ((await page.getByRole('dialog').count()) > 0) return 'dialog:last-of-type';
  const isMoving = await page.locator('#selection:visible, #undo:visible').count();
  return isMoving > 0 ? '#selection:visible, #table, #undo:visible' : 'main';
}

const recording = new Recording(new URL('states.txt', import.meta.url), () => false);

test('console › the states that are recorded in states.txt', async (t) => {
  const stage = await Stage.open(t, { pets: [...PETS] });
  const { page } = await visit(t, stage);
  const console = new ConsolePage(page);
  assert.deepEqual(
    recording.blocks.map(({ title }) => title),
    Object.keys(STATES),
  );
  for (const block of recording.blocks) {
    await STATES[block.title]?.(console, stage);
    const parts = await Promise.all(
      (await page.locator(await shownIn(page)).all()).map((each) => each.ariaSnapshot()),
    );
    recording.check(block, parts.join('\n').split('\n'));
  }
});
