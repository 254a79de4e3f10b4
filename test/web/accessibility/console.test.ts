// Every state of the console, light and dark, in three widths: axe-core, overflow, and, with PICTURES=1, pictures in
// artifacts/ for people.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { ConsolePage } from '../console-page.ts';
import { assertLooks, resize, WIDTHS } from '../looks.ts';
import { openMany, signIn, Stage, test, visit } from '../stage.ts';

const STATUSES = ['available', 'pending', 'sold'] as const;
const PETS = Array.from({ length: 23 }, (_, index) => ({
  name: `Animal ${index + 1}`,
  categoryId: (index % 7) + 1,
  status: STATUSES[index % 3],
}));

const place = (page: Page, text: string) => page.locator('#place', { hasText: text }).waitFor();
const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

/** Opens every closed part of the page. */
async function openDetails(page: Page): Promise<void> {
  await page.evaluate(`document.querySelectorAll('details').forEach((e) => { e.open = true; })`);
}

async function addRex(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Rex');
  await page.getByLabel('Category', { exact: true }).fill('7');
  await press(page, 'Add animal');
}

async function emptyStates(t: TestContext): Promise<void> {
  const stage = await Stage.open(t, { flags: ['--env', 'staging'] });
  const { page } = await visit(t, stage);
  await page.getByLabel('API key').waitFor();
  await assertLooks(page, 'staging-sign-in');
  await signIn(page, 'pet_live_0');
  await page.getByText('This is a production key. This console is for staging.').waitFor();
  await assertLooks(page, 'other-environment');
  await signIn(page, `pet_test_${'0'.repeat(36)}`);
  await page.getByText('This key does not open the catalogue').waitFor();
  await openDetails(page);
  await assertLooks(page, 'key-refused');
  await signIn(page, stage.key);
  await page.getByText('No animals yet').waitFor();
  await page.getByText('petstore import animals.csv --env staging').waitFor();
  await assertLooks(page, 'empty');
  await page.locator('#filter label', { hasText: 'Sold' }).click();
  await page.getByText('No animal is sold').waitFor();
  await assertLooks(page, 'filter-empty');
  await press(page, 'Show all');
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  await assertLooks(page, 'many-open');
  await page.getByLabel('Paste CSV').fill('name,categoryId\nRex,7\n,8\nMimi,x\nAda,3\n');
  await page.getByText('What will be added').waitFor();
  await assertLooks(page, 'many-preview');
  await press(page, 'Add the 2 animals without a fault');
  await page.getByText('2 animals were added.').waitFor();
  await page.getByText('Nothing can be added.').waitFor();
  await assertLooks(page, 'many-faulty-lines-only');
  await page.getByLabel('Paste CSV').fill('name,categoryId\nRex,7\n,8\nMimi,x\nAda,3\n');
  await page.getByText('This list was added before').waitFor();
  await assertLooks(page, 'many-again');
  await page.getByLabel('Paste CSV').fill('names\nRex');
  await page.getByText('must name its columns').waitFor();
  await assertLooks(page, 'many-no-list');
  const rows = 'Rex;7;sold;rot;12,50\n Mimi ;3;;;\nAda;x;;blau;\n';
  await page.getByLabel('Paste CSV').fill(`"Tier, Name";Art-Nr.;Status;Farbe;Preis\n${rows}`);
  await page.getByText('Which column is which?').waitFor();
  await assertLooks(page, 'many-columns');
  const chooser = page.waitForEvent('filechooser');
  await press(page, 'Choose a file');
  const buffer = Buffer.from('Name;Kategorie\r\nL\u00f6we;7\r\nB\u00e4r;8\r\n', 'latin1');
  await (await chooser).setFiles({ name: 'tiere.csv', mimeType: 'text/csv', buffer });
  await page.getByText('This file is not UTF-8.').waitFor();
  await assertLooks(page, 'many-encoding');
}

async function catalogueStates(t: TestContext): Promise<void> {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage);
  await page.getByLabel('API key').waitFor();
  await assertLooks(page, 'sign-in');
  await signIn(page, stage.key);
  await place(page, 'Animals 1–20, more follow');
  await assertLooks(page, 'catalogue');
  await press(page, 'Newest');
  await place(page, 'Animals 1–20, newest first, more follow');
  await assertLooks(page, 'newest');
  await press(page, 'Newest');
  await place(page, 'Animals 1–20, more follow');
  await page.getByRole('button', { name: 'Animal 7', exact: true }).click();
  await assertLooks(page, 'animal');
  await page.locator('dialog summary').click();
  await assertLooks(page, 'animal-for-developers');
  await press(page, 'Close');
  await page.locator('#download').click();
  await page.getByText('Saved 23 animals.').waitFor();
  await addRex(page);
  await page.getByText('Rex was added with the id 24.').waitFor();
  await place(page, 'Animals 1–20, newest first, more follow');
  await openDetails(page);
  await page.locator('#list-curl button').click();
  await press(page, 'Next');
  await place(page, 'Animals 21–24, newest first, the last');
  await page.locator('#add-curl button').click();
  await assertLooks(page, 'added');
  await page.getByLabel('Name').fill('x'.repeat(256));
  await page.getByLabel('Category', { exact: true }).fill('7');
  await press(page, 'Add animal');
  await page.getByText('The name has 256 characters').waitFor();
  await assertLooks(page, 'faults-closed');
  await openDetails(page);
  await assertLooks(page, 'faults-open');
}

async function troubleStates(t: TestContext): Promise<void> {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  let isHeld = false;
  const held = Promise.withResolvers<void>();
  await page.route('**/v1/pets?**', async (route) => {
    if (!isHeld) return route.continue();
    await held.promise;
    return route.abort('connectionrefused');
  });
  // This state ends by itself, so it is entered for each width.
  for (const width of WIDTHS) {
    isHeld = false;
    await page.goto(stage.site);
    await place(page, 'Animals 1–20, more follow');
    isHeld = true;
    await press(page, 'Next');
    await assertLooks(page, 'loading', { widths: [width], between: [] });
  }
  held.resolve();
  await page.getByText('The service cannot be reached').waitFor();
  await page.route('**/v1/pets', (route) =>
    route.fulfill({
      status: 503,
      headers: { 'Retry-After': '100', 'X-Request-Id': 'busy-1' },
      contentType: 'application/json',
      body: JSON.stringify({ code: 'overloaded', message: 'Too many wait.', status: 503 }),
    }),
  );
  await addRex(page);
  await page.getByText('Wait 100 seconds, then try again.').waitFor();
  await page.locator('#add-many').click();
  await page.getByLabel('Paste CSV').fill('name,categoryId\nRex,7\n');
  await page.getByText('What will be added').waitFor();
  await page.route('**/console/import?*', (route) => route.abort('connectionrefused'));
  await press(page, 'Add 1 animal');
  await page.locator('#many', { hasText: 'The service cannot be reached' }).waitFor();
  await openDetails(page);
  await assertLooks(page, 'trouble');
}

async function restrictedStates(t: TestContext): Promise<void> {
  const stage = await Stage.open(t, { pets: PETS.slice(0, 3) });
  const { page } = await visit(t, stage, { key: await stage.newKey('pets:read') });
  await place(page, 'Animals 1–3 of 3');
  await assertLooks(page, 'key-may-read');
  await press(page, 'Use another key');
  await signIn(page, await stage.newKey('pets:write'));
  await page.getByText('This key only adds animals').waitFor();
  await assertLooks(page, 'key-may-write');
  await press(page, 'Use another key');
  await signIn(page, await stage.newKey('pets:read,pets:write'));
  await page.getByText('This key cannot change or remove animals').waitFor();
  await assertLooks(page, 'key-of-before');
}

const SOLD = 'sold' as const;

async function changedStates(t: TestContext): Promise<void> {
  const long = `Long ${'name '.repeat(30)}`;
  const pets = ['Lola', 'Mia', long].map((name) => ({ name, categoryId: 7, status: SOLD }));
  const stage = await Stage.open(t, { pets });
  const { page } = await visit(t, stage, { key: stage.key });
  const console = new ConsolePage(page);
  await console.select('Lola', 'Mia');
  await assertLooks(page, 'selected');
  await page.route('**/v1/pets?**', (route) => route.abort());
  await stage.run(['catalogue', 'set', '1', '--status', 'available', ...stage.place]);
  await page.locator('#selection').getByRole('button', { name: 'Pending' }).click();
  await console.says('1 of 2 animals were not changed');
  await console.toast().hover();
  await assertLooks(page, 'changed');
  await console.open('Mia');
  await assertLooks(page, 'edit');
  await page.locator('#edit-name').fill('Mia Maria');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Discard what you changed?' }).waitFor();
  await assertLooks(page, 'discard');
  await console.press('Go on');
  await console.press('Remove …');
  await assertLooks(page, 'remove');
  // The two longest statuses beside each other.
  await stage.run(['catalogue', 'set', '2', '--status', 'available', ...stage.place]);
  await console.press('Remove it');
  await page.getByRole('dialog', { name: 'Mia was changed meanwhile' }).waitFor();
  await assertLooks(page, 'removal-in-conflict');
  await resize(page, 360);
  const wider = `[...document.querySelectorAll('dialog')].map((e) => e.scrollWidth - e.clientWidth)`;
  assert.deepEqual(await page.evaluate(wider), [0, 0]);
  await console.press('Keep it');
  await stage.run(['catalogue', 'remove', '2', '--yes', ...stage.place]);
  await console.press('Save');
  await console.says('This animal is gone');
  await assertLooks(page, 'gone');
  await page.keyboard.press('Escape');
  await stage.run(['catalogue', 'set', '1', '--status', 'sold', ...stage.place]);
  await console.mark('Lola', 'pending');
  await page.getByRole('dialog', { name: 'Lola was changed meanwhile' }).waitFor();
  await assertLooks(page, 'conflict');
  await console.press('Keep what is there');
  await console.statusOf('Lola').click();
  await assertLooks(page, 'choice');
  await page.keyboard.press('Escape');
  await page.evaluate('globalThis.print = () => undefined');
  await page.unrouteAll();
  await console.press('Print');
  await console.says('Printing: 2 animals.');
  await page.emulateMedia({ media: 'print' });
  await assertLooks(page, 'print', { widths: [768], between: [] });
}

async function searchStates(t: TestContext): Promise<void> {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  const console = new ConsolePage(page);
  await console.isLoaded();
  await console.find('animal 2');
  await console.listSays('5 of 23 animals');
  await assertLooks(page, 'found');
  await console.find('zzz');
  await console.says('Nothing found for “zzz”');
  await assertLooks(page, 'not-found');
  await page.route('**/v1/pets?**', () => undefined);
  await console.find('rex');
  await page.locator('#catalogue[aria-busy=true]').waitFor();
  await assertLooks(page, 'finding');
}

test('console › without animals, every state is accessible and fits', emptyStates);
test('console › with animals, every state is accessible and fits', catalogueStates);
test('console › in trouble, every state is accessible and fits', troubleStates);
test('console › with a restricted key, every state is accessible and fits', restrictedStates);
test('console › changes: every state is accessible and fits', changedStates);
test('console › find: every state is accessible and fits', searchStates);
