// The day in a shop: an animal is marked as sold, corrected and removed where people work; and what a person, or their
// screen reader, finds in the states of the console, each below its heading in states.txt.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { Recording } from '../golden/recording.ts';
import { ConsolePage } from './console-page.ts';
import { Stage, stageOfFile, test, visit } from './stage.ts';

/** After this time a fault would be shown. */
const SHOWN_MS = 400;

/** One service for all tests of this file. Each test has animals of its own. */
const stageOf = stageOfFile();

/** Opens the console with these animals, which are the newest of the list. */
async function open(
  t: TestContext,
  names: string[],
): Promise<{ console: ConsolePage; stage: Stage; ids: bigint[] }> {
  const stage = await stageOf();
  const ids: bigint[] = [];
  for (const name of names) {
    ids.push((await stage.client().pets.create({ name, categoryId: 7 })).id);
  }
  const { page } = await visit(t, stage, { key: stage.key, path: '/?cursor=last' });
  const console = new ConsolePage(page);
  await console.row(names[0] ?? '').waitFor();
  return { console, stage, ids };
}

const animal = async (stage: Stage, id: bigint | undefined) => stage.client().pets.get(id ?? 0n);

test('console › an animal is marked as sold in the list, with a click and by keyboard, and "Undo" and Ctrl+Z bring its status back', async (t) => {
  const { console, stage, ids } = await open(t, ['Bella']);
  const { page } = console;
  await console.mark('Bella', 'sold');
  await console.undo().getByText('Bella is now sold.').waitFor();
  assert.equal((await animal(stage, ids[0])).status, 'sold');
  assert.equal(await console.focused(), 'Status of Bella');
  await console.press('Undo');
  await console.isShown('Bella', 'available');
  assert.equal((await animal(stage, ids[0])).status, 'available');
  assert.equal(await console.undo().isVisible(), false);

  await console.statusOf('Bella').focus();
  // In a closed list an arrow would choose at once.
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await console.undo().getByText('Bella is now sold.').waitFor();
  assert.equal(await console.focused(), 'Status of Bella');
  await page.keyboard.press('Control+z');
  await console.isShown('Bella', 'available');
});

test('console › "Undo" is offered for ten seconds, and as long as the pointer or the focus is on it', async (t) => {
  const { console } = await open(t, ['Timo']);
  const { page } = console;
  await page.clock.install();
  await console.mark('Timo', 'pending');
  await console.undo().waitFor();
  await page.clock.fastForward(9_000);
  await console.undo().hover();
  await page.clock.fastForward(20_000);
  assert.equal(await console.undo().isVisible(), true);
  await console.undo().getByRole('button').focus();
  await page.mouse.move(0, 0);
  await console.undo().dispatchEvent('focusin');
  await page.clock.fastForward(20_000);
  assert.equal(await console.undo().isVisible(), true);
  await console.statusOf('Timo').focus();
  await page.clock.fastForward(10_001);
  await console.undo().waitFor({ state: 'hidden' });
  await console.isShown('Timo', 'pending');
});

test('console › the dialog corrects name, category and status, with the rules of the form, and sends only what was changed', async (t) => {
  const name = 'two\nlines';
  const { console, stage, ids } = await open(t, [name]);
  const { page } = console;
  await page.locator('#rows .open', { hasText: 'two' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Category').fill('seven');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('The category is a whole number, such as 7.').waitFor();
  await dialog.getByLabel('Category').fill('9223372036854775807');
  await dialog.locator('label', { hasText: 'Sold' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const sold = await animal(stage, ids[0]);
  assert.deepEqual(
    { ...sold },
    { id: ids[0], name, categoryId: 9223372036854775807n, status: 'sold' },
  );
  await page.locator('#rows .open', { hasText: 'two' }).click();
  for (const [typed, words] of [
    [' ', 'Enter a name.'],
    ['x'.repeat(256), 'The name has 256 characters; at most 255 fit.'],
  ] as const) {
    await dialog.getByLabel('Name').fill(typed);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(words).waitFor();
    assert.equal(await console.focused(), 'edit-name');
  }
  await dialog.getByLabel('Name').fill(' <b>Ada</b> ');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await console.undo().getByText('<b>Ada</b> is saved.').waitFor();
  assert.equal((await animal(stage, ids[0])).name, '<b>Ada</b>');
  await console.press('Undo');
  await page.locator('#rows .open', { hasText: 'two' }).waitFor();
  assert.equal((await animal(stage, ids[0])).name, name);
});

test('console › an animal is removed after a question that shows it, and a removed one is said to be gone', async (t) => {
  const { console, stage, ids } = await open(t, ['Rudi', 'Susi']);
  const { page } = console;
  const dialog = await console.open('Susi');
  await dialog.getByRole('button', { name: 'Remove …' }).click();
  const question = page.getByRole('dialog', { name: 'Remove Susi?' });
  await question.getByText('It cannot be brought back').waitFor();
  assert.equal(await console.focused(), 'Keep it');
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'detached' });
  assert.equal((await animal(stage, ids[1])).name, 'Susi');
  await dialog.getByRole('button', { name: 'Remove …' }).click();
  await question.getByRole('button', { name: 'Remove it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await console.row('Susi').waitFor({ state: 'detached' });
  await assert.rejects(animal(stage, ids[1]), { code: 'pet_not_found' });

  // Somebody removes the other one with the command.
  const rudi = String(ids[0]);
  await stage.run(['catalogue', 'remove', rudi, '--yes', ...stage.place]);
  await console.mark('Rudi', 'sold');
  await console.says('Rudi is gone');
  await console.row('Rudi').waitFor({ state: 'detached' });
});

test('console › two windows: a change that the other did not see stores nothing, shows both versions, and the person chooses', async (t) => {
  const { console, stage, ids } = await open(t, ['Carl', 'Cleo']);
  const { page } = console;
  const other = new ConsolePage(await page.context().newPage());
  await other.page.goto(`${stage.site}/?cursor=last`);
  await other.signIn(stage.key);
  await other.row('Carl').waitFor();
  // The first window must not load the list again by itself.
  await page.route('**/v1/pets?**', (route) => route.abort());
  await other.mark('Carl', 'pending');
  await other.isShown('Carl', 'pending');
  await page.bringToFront();
  await console.mark('Carl', 'sold');
  const question = page.getByRole('dialog', { name: 'Carl was changed meanwhile' });
  await question.waitFor();
  assert.deepEqual(await question.locator('tr').allTextContents(), [
    'In the store nowWith your change',
    'NameCarlCarl',
    'Category77',
    'StatusPendingSold',
    `Id${ids[0]}${ids[0]}`,
  ]);
  await question.getByRole('button', { name: 'Keep what is there' }).click();
  await console.isShown('Carl', 'pending');
  assert.equal((await animal(stage, ids[0])).status, 'pending');

  // What is not in conflict is kept: the name of the other, the status of this one.
  await other.page.bringToFront();
  const dialog = await other.open('Cleo');
  await dialog.getByLabel('Name').fill('Cleopatra');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await other.row('Cleopatra').waitFor();
  await page.bringToFront();
  const edit = await console.open('Cleo');
  await edit.locator('label', { hasText: 'Sold' }).click();
  await edit.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Save my change' }).click();
  await console.isShown('Cleopatra', 'sold');
  assert.deepEqual(
    { ...(await animal(stage, ids[1])) },
    { id: ids[1], name: 'Cleopatra', categoryId: 7n, status: 'sold' },
  );
  // A removal of what was changed meanwhile asks again.
  await other.page.bringToFront();
  await other.mark('Carl', 'sold');
  await other.isShown('Carl', 'sold');
  await page.bringToFront();
  await (await console.open('Carl')).getByRole('button', { name: 'Remove …' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('dialog', { name: 'Carl was changed meanwhile' }).waitFor();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await console.row('Carl').waitFor({ state: 'detached' });
});

test('console › selected animals get one status, what was not changed is said for each animal, and "Undo" is for all of them', async (t) => {
  const names = ['Kim 1', 'Kim 2', 'Kim 3', 'Kim 4', 'Kim 5'];
  const { console, stage, ids } = await open(t, names);
  const { page } = console;
  await console.select('Kim 1', 'Kim 2');
  await page.getByLabel('Select Kim 5', { exact: true }).click({ modifiers: ['Shift'] });
  const bar = page.locator('#selection');
  await bar.getByText('5 selected').waitFor();
  // Meanwhile others change one of them and remove another.
  await page.route('**/v1/pets?**', (route) => route.abort());
  await stage.run(['catalogue', 'set-status', String(ids[1]), '--to', 'pending', ...stage.place]);
  await stage.run(['catalogue', 'remove', String(ids[3]), '--yes', ...stage.place]);
  await bar.getByRole('button', { name: 'Sold' }).click();
  await console.says('2 of 5 animals were not changed');
  assert.deepEqual(await page.locator('.failures li').allTextContents(), [
    `Kim 4Id ${ids[3]}: somebody has removed it`,
    `Kim 2Id ${ids[1]}: somebody else has changed it meanwhile; load the list again`,
  ]);
  await bar.getByText('1 selected').waitFor();
  await console.undo().getByText('3 animals are now sold.').waitFor();
  for (const [name, status] of [
    ['Kim 1', 'sold'],
    ['Kim 3', 'sold'],
    ['Kim 5', 'sold'],
  ] as const) {
    await console.isShown(name, status);
  }
  await console.press('Undo');
  for (const name of ['Kim 1', 'Kim 3', 'Kim 5']) await console.isShown(name, 'available');
  await page.unroute('**/v1/pets?**');
  await console.press('Refresh');
  await console.isShown('Kim 2', 'pending');
  await page.getByLabel('Select all animals of this page').check();
  await console.press('Clear');
  assert.equal(await bar.isVisible(), false);
  assert.equal(await console.focused(), 'select-all');
});

test('console › the list shows what others have changed as soon as its window is used again, and nothing else moves', async (t) => {
  const { console, stage, ids } = await open(t, ['Fips', 'Fido']);
  const { page } = console;
  const comeBack = () => page.evaluate(`dispatchEvent(new Event('focus'))`);
  await stage.run(['catalogue', 'set-status', String(ids[0]), '--to', 'sold', ...stage.place]);
  // The press that brings the window back may have opened the status of this one.
  const fido = await console.row('Fido').elementHandle();
  await comeBack();
  await console.isShown('Fips', 'sold');
  assert.equal(await fido?.evaluate(({ isConnected }) => isConnected), true);

  // A list that was read before a change is not shown after it.
  const held = Promise.withResolvers<void>();
  await page.route('**/v1/pets?**', async (route) => {
    const before = await route.fetch();
    await held.promise;
    await route.fulfill({ response: before }).catch(() => undefined);
  });
  const read = page.waitForRequest('**/v1/pets?**');
  await comeBack();
  await read;
  await console.mark('Fido', 'sold');
  await console.undo().getByText('Fido is now sold.').waitFor();
  held.resolve();
  await page.evaluate(`fetch('docs').then((response) => response.text())`);
  await console.isShown('Fido', 'sold');
});

test('console › a reload in the background that fails leaves the list as it is', async (t) => {
  const { console } = await open(t, ['Nina']);
  const { page } = console;
  const before = await console.names();
  const error = { code: 'unavailable', message: 'The store is away.', status: 503 };
  await page.route('**/v1/pets?*', (route) => route.fulfill({ status: 503, json: error }));
  const failed = page.waitForEvent('requestfinished');
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await failed;
  await sleep(SHOWN_MS);
  await page.locator('#catalogue[aria-busy=false]').waitFor();
  assert.deepEqual(await console.names(), before);
  assert.equal(await page.locator('#list-message').textContent(), '');
});

/** Those of states.txt. */
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
