// The list: its pages and their addresses, what is found in it, and what is saved and printed of it.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { ConsolePage } from '../console-page.ts';
import { Stage, stageOfFile, test, until, visit } from '../stage.ts';
import { runStories } from '../story.ts';

const PETS = Array.from({ length: 45 }, (_, index) => ({
  name: `Animal ${index + 1}`,
  categoryId: 7,
}));
/** Only the first and the last are sold. */
const MANY = Array.from({ length: 5_001 }, (_, index) => ({
  name: `Animal ${index + 1}`,
  categoryId: 7,
  status: index % 5_000 === 0 ? ('sold' as const) : ('available' as const),
}));
/** No test changes them. */
const stageOf = stageOfFile({ pets: PETS });

const place = (page: Page, text: string) => page.locator('#place', { hasText: text }).waitFor();
const names = (page: Page) => page.locator('#rows .name').allTextContents();
const next = (page: Page) => page.getByRole('button', { name: 'Next' });

runStories(new URL('catalogue.txt', import.meta.url));

test('console › at every width, header and cards have the same edges, also at /docs, and "Newest", "Find" and the first tick move nothing', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  const edges = (...selectors: string[]) =>
    page.evaluate<number[][]>(`${JSON.stringify(selectors)}.map((selector) => {
      const box = document.querySelector(selector).getBoundingClientRect();
      return [box.left, box.right, box.top + scrollY];
    })`);
  const controls = () => edges('#filter', '#newest', '#limit', '#previous', '#next', '#download');
  const shown = new Map<number, number[]>();
  for (const width of [360, 768, 1097, 1440, 2000]) {
    await page.setViewportSize({ width, height: 900 });
    const [brand = [], who = [], cards = []] = await edges('.brand', '.who', '#workspace');
    assert.deepEqual([brand[0], who[1]], cards.slice(0, 2), `${width} px`);
    assert.ok((who[2] ?? 60) < 60, `the header has one line at ${width} px`);
    shown.set(width, cards.slice(0, 2));
    if (width !== 360 && width !== 1440) continue;
    const before = await controls();
    await page.getByRole('button', { name: 'Newest' }).click();
    await place(page, 'Animals 1–20, newest first, more follow');
    assert.deepEqual(await controls(), before, `${width} px`);
    await page.getByRole('button', { name: 'Newest' }).click();
    await place(page, 'Animals 1–20, more follow');
    const above = () =>
      edges('#title', '#filter', '#refresh', '#find-text', '#find button', '#rows');
    const list = await above();
    await page.getByLabel('Select Animal 1', { exact: true }).check();
    assert.deepEqual(await above(), list, `a tick at ${width} px`);
    await new ConsolePage(page).find('animal');
    await place(page, '45 of 45 animals');
    assert.deepEqual((await above()).flat(), list.flat(), `a search at ${width} px`);
    await page.locator('#find-text').fill('');
    await place(page, 'Animals 1–20, more follow');
  }
  await page.setViewportSize({ width: 1100, height: 900 });
  const tops = (await edges('#filter fieldset', '#refresh', '#newest')).map(([, , top]) => top);
  assert.equal(new Set(tops).size, 1, 'no control is alone in a line');
  await page.goto(`${stage.site}/docs/reference`);
  for (const [width, [left, right]] of shown) {
    await page.setViewportSize({ width, height: 900 });
    const [brand = [], main = []] = await edges('.brand', 'main');
    assert.deepEqual([brand[0], main[1]], [left, right], `/docs/reference at ${width} px`);
  }
});

test('console › the rows, the focus and the scroll position stay while the next page loads or fails, and it is shown from its first row', async (t) => {
  const stage = await stageOf();
  const viewport = { width: 1000, height: 500 };
  const { page } = await visit(t, stage, { key: stage.key, viewport });
  await place(page, 'Animals 1–20, more follow');
  const first = await names(page);
  let answer = Promise.withResolvers<'pass' | 'fail'>();
  await page.route('**/v1/pets?**', async (route) => {
    if ((await answer.promise) === 'pass') await route.continue();
    else await route.abort('connectionrefused');
  });
  await next(page).focus();
  const scrollY = await page.evaluate<number>('scrollY');
  assert.ok(scrollY > 100);
  await until(page, `history.state.scrollY === ${scrollY}`);
  await page.keyboard.press('Enter');
  await page.locator('#catalogue[aria-busy=true]').waitFor();
  assert.deepEqual(await names(page), first);
  const previous = page.getByRole('button', { name: 'Previous' });
  assert.equal(await previous.getAttribute('aria-disabled'), 'true');
  assert.equal(await next(page).getAttribute('aria-disabled'), 'true');
  await next(page).click({ force: true });
  answer.resolve('fail');
  await page.getByText('The service cannot be reached').waitFor();
  await place(page, 'Still showing the earlier rows');
  assert.deepEqual(await names(page), first);
  assert.equal(await page.evaluate('document.activeElement.id'), 'next');
  assert.equal(await previous.getAttribute('aria-disabled'), 'false');
  answer = Promise.withResolvers();
  answer.resolve('pass');
  await page.getByRole('button', { name: 'Try again' }).click();
  await place(page, 'Animals 21–40, more follow');

  await next(page).focus();
  const lower = await page.evaluate<number>('scrollY');
  await until(page, `history.state.scrollY === ${lower}`);
  await page.reload();
  await place(page, 'Animals 21–40, more follow');
  await until(page, `scrollY === ${lower}`);
  await page.evaluate('scrollTo(0, 0)');
  await until(page, 'history.state.scrollY === 0');
  await page.goBack();
  await place(page, 'Animals 1–20, more follow');
  assert.deepEqual(await names(page), first);
  await until(page, `scrollY === ${scrollY}`);
  await next(page).click();
  await place(page, 'Animals 21–40, more follow');
  await until(page, `document.querySelector('#rows tr').getBoundingClientRect().top >= 0`);
});

test('console › a search leaves half of the requests of its key for other work', async (t) => {
  const stage = await Stage.open(t, { flags: ['--rate-limit', '20/30s'], pets: MANY });
  const { page } = await visit(t, stage, { key: stage.key });
  const console = new ConsolePage(page);
  await console.listSays('Animals 1–20');
  await console.find('bella');
  await console.listSays(/^0 found, \d00 looked at\. Waiting \d+ s, so that half of the requests/);
  for (let more = 0; more < 9; more += 1) await stage.client().pets.list({ limit: 1 }).page();
  await console.press('Stop');
  await console.listSays(/^Not complete: 0 found, \d00 looked at$/);
});

test('console › the whole filter is printed, at most 5,000 animals, with title, date and count, and without controls', async (t) => {
  const stage = await Stage.open(t, { pets: MANY });
  const { page } = await visit(t, stage, { key: stage.key, path: '/?status=sold' });
  const console = new ConsolePage(page);
  await console.isLoaded();
  await page.evaluate('globalThis.print = () => undefined');
  await console.press('Print');
  await page.getByText('Printing: 2 animals.').waitFor();
  await page.emulateMedia({ media: 'print' });
  const sheet = page.locator('#sheet');
  assert.match(
    await sheet.innerText(),
    /^Catalogue · Sold\s+\d+ \w+ \d{4} at \d\d:\d\d\. 2 animals\.\s+Id\s+Name\s+Category\s+Status\s+1\s+Animal 1\s+7\s+Sold\s+5001\s+Animal 5001\s+7\s+Sold$/,
  );
  assert.equal(await page.locator('button:visible, input:visible, select:visible').count(), 0);
  assert.equal(await page.locator('main').isVisible(), false);
  await page.evaluate(`dispatchEvent(new Event('afterprint'))`);
  assert.equal(await page.locator('#rows').isVisible(), true);
  await page.emulateMedia({ media: null });

  await console.filter('All');
  await console.listSays('Animals 1–20, more follow');
  await console.press('Print');
  await page.getByText('Printing: The first 5,000 animals of the list. There are more.').waitFor();
  assert.equal(await page.locator('#sheet tbody tr').count(), 5_000);
  const held = Promise.withResolvers<void>();
  await page.route('**/v1/pets?**', async (route) => {
    await held.promise;
    await route.continue().catch(() => undefined);
  });
  await console.press('Print');
  await console.press('Stop printing');
  await page.getByText('Stopped. Nothing is printed.').waitFor();
  held.resolve();
});
