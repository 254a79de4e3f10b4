// The list: its pages and their addresses, what is found in it, and what is saved and printed of it.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { PetStatus } from '../../../sdk/src/index.ts';
import { ConsolePage } from '../console-page.ts';
import { signIn, Stage, stageOfFile, test, until, visit } from '../stage.ts';

const PETS = Array.from({ length: 45 }, (_, index) => ({
  name: `Animal ${index + 1}`,
  categoryId: 7,
  status: (['available', 'pending', 'sold'] as const)[index % 3],
}));
/** No test changes them. */
const stageOf = stageOfFile({ pets: PETS });

const place = (page: Page, text: string) => page.locator('#place', { hasText: text }).waitFor();
const names = (page: Page) => page.locator('#rows .name').allTextContents();
const next = (page: Page) => page.getByRole('button', { name: 'Next' });
const filter = (page: Page, status: string) => page.locator('#filter label', { hasText: status });

test('console › the URL has the status, the page size and the cursor: back, forward, reload and links work', async (t) => {
  const stage = await stageOf();
  const { page, context } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  assert.equal(page.url(), `${stage.site}/`);
  assert.equal(await page.locator('#page-message').textContent(), '');
  await page.getByLabel('Page size').selectOption('10');
  await place(page, 'Animals 1–10, more follow');
  await next(page).click();
  await place(page, 'Animals 11–20, more follow');
  await next(page).click();
  await place(page, 'Animals 21–30, more follow');
  assert.match(page.url(), /\/\?limit=10&cursor=[\w-]+$/);
  await page.goBack();
  await place(page, 'Animals 11–20, more follow');
  const link = page.url();
  const shared = await names(page);
  await filter(page, 'Sold').click();
  await place(page, 'Animals 1–10, more follow');
  assert.equal(page.url(), `${stage.site}/?status=sold&limit=10`);
  const animal = (name: string) => page.getByRole('button', { name, exact: true });
  await animal('Animal 12').focus();
  await page.goBack();
  await place(page, 'Animals 11–20, more follow');
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Animal 12');
  assert.deepEqual(await names(page), shared);
  assert.equal(await page.locator('#all').isChecked(), true);
  await page.goForward();
  await place(page, 'Animals 1–10, more follow');
  assert.deepEqual(new Set(await new ConsolePage(page).statuses()), new Set(['sold']));
  await animal('Animal 3').focus();
  await page.goBack();
  await place(page, 'Animals 11–20');
  assert.equal(await page.evaluate('document.activeElement.id'), 'title', 'its row is gone');
  await page.reload();
  await place(page, 'Animals 11–20, more follow');
  assert.deepEqual(await names(page), shared);
  // A link within the page adds an entry to the history, and the place stays.
  await page.goto(`${page.url()}#add-title`);
  await page.reload();
  await place(page, 'Animals 11–20, more follow');
  await page.getByRole('button', { name: 'Previous' }).click();
  await place(page, 'Animals 1–10');

  const other = await context.newPage();
  await other.goto(link);
  await signIn(other, stage.key);
  // Nobody has counted the animals before this page.
  await place(other, '10 animals, more follow');
  assert.deepEqual(await names(other), shared);
  for (const name of ['Animal 21', 'Animal 31', 'Animal 41']) {
    await next(other).click();
    await other.getByRole('button', { name }).waitFor();
  }
  await place(other, '5 animals, the last');
  await other.goto(link);
  await other.getByRole('button', { name: 'First page' }).click();
  await place(other, 'Animals 1–10, more follow');
  await other.goto(`${stage.site}/?status=lost&limit=7&cursor=nonsense`);
  await other.getByText('This link leads to no page').waitFor();
  await other.getByRole('button', { name: 'First page' }).click();
  await place(other, 'Animals 1–20, more follow');
});

test('console › the history keeps the last 1,000 pages of a walk, so that "Previous" leads to the page before', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  const kept = await page.evaluate(`import('/assets/src/web/console/page/place.ts').then(
    ({ enterPlace }) => {
      const trail = Array.from({ length: 1_500 }, (_, at) => ({ cursor: 'page-' + at, before: 0 }));
      enterPlace({ status: undefined, limit: 20, isNewestFirst: false, trail });
      const { trail: kept } = history.state;
      return [kept.length, kept[0].cursor, kept.at(-1).cursor];
    },
  )`);
  assert.deepEqual(kept, [1_000, 'page-500', 'page-1499']);
});

test('console › "Newest" begins with the newest animal of the filter, and "Next" leads back to the oldest', async (t) => {
  const stage = await stageOf();
  const { page, context } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  const newest = page.getByRole('button', { name: 'Newest' });
  await newest.click();
  await place(page, 'Animals 1–20, newest first, more follow');
  assert.equal(page.url(), `${stage.site}/?cursor=last`);
  await page.getByLabel('Page size').selectOption('10');
  const shown: string[] = [];
  for (const range of ['1–10', '11–20', '21–30', '31–40']) {
    await place(page, `Animals ${range}, newest first, more follow`);
    shown.push(...(await names(page)));
    assert.equal(await newest.getAttribute('aria-pressed'), 'true');
    await next(page).click();
  }
  await place(page, 'Animals 41–45, newest first, the last');
  shown.push(...(await names(page)));
  assert.deepEqual(shown, PETS.map(({ name }) => name).toReversed());
  assert.equal(await next(page).getAttribute('aria-disabled'), 'true');
  assert.match(page.url(), /\/\?limit=10&cursor=[\w-]+&order=newest$/);
  await page.locator('details:has(#list-curl) summary').click();
  await page.locator('#list-curl button').click();
  await page.getByText(/v1\/pets\?limit=10&cursor=[\w-]+'/).waitFor();

  // Back, reload and "Previous" keep the order and the count.
  await page.goBack();
  await place(page, 'Animals 31–40, newest first, more follow');
  await page.reload();
  await place(page, 'Animals 31–40, newest first, more follow');
  const link = page.url();
  const previous = page.getByRole('button', { name: 'Previous' });
  for (const range of ['21–30', '11–20', '1–10']) {
    await previous.click();
    await place(page, `Animals ${range}, newest first`);
  }
  assert.equal(await previous.getAttribute('aria-disabled'), 'true');
  assert.equal(page.url(), `${stage.site}/?limit=10&cursor=last`);

  const other = await context.newPage();
  await other.goto(link);
  await signIn(other, stage.key);
  await place(other, '10 animals, newest first, more follow');
  assert.deepEqual(await names(other), shown.slice(30, 40));
  assert.equal(await other.getByRole('button', { name: 'Newest', pressed: true }).count(), 1);
  await next(other).click();
  await place(other, '5 animals, newest first, the last');
  await other.goto(link);
  await other.getByRole('button', { name: 'First page' }).click();
  await place(other, 'Animals 1–10, newest first, more follow');
});

test('console › at every width, header and cards have the same edges, also at /docs, and "Newest" moves no control', async (t) => {
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
  }
  await page.goto(`${stage.site}/docs/reference`);
  for (const [width, [left, right]] of shown) {
    await page.setViewportSize({ width, height: 900 });
    const [brand = [], main = []] = await edges('.brand', 'main');
    assert.deepEqual([brand[0], main[1]], [left, right], `/docs/reference at ${width} px`);
  }
});

test('console › "Newest" keeps the filter, shows a new animal first, and ends with a second press', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key, path: '/?limit=10' });
  const newest = page.getByRole('button', { name: 'Newest' });
  await newest.click();
  await place(page, 'Animals 1–10, newest first, more follow');
  await page.getByLabel('Name').fill('Rex');
  await page.getByLabel('Category', { exact: true }).fill('7');
  await page.getByRole('button', { name: 'Add animal' }).click();
  await page.locator('#rows tr.new:first-child', { hasText: 'Rex' }).waitFor();
  await next(page).click();
  await place(page, 'Animals 11–20, newest first, more follow');
  assert.equal((await names(page))[0], 'Animal 36');

  await filter(page, 'Sold').click();
  await until(page, `document.querySelector('#rows .name')?.textContent === 'Animal 45'`);
  await place(page, 'Animals 1–10, newest first, more follow');
  await next(page).click();
  await place(page, 'Animals 11–15, newest first, the last');
  assert.deepEqual(new Set(await new ConsolePage(page).statuses()), new Set(['sold']));
  await newest.click();
  await place(page, 'Animals 1–10, more follow');
  assert.equal(await newest.getAttribute('aria-pressed'), 'false');
  assert.equal(page.url(), `${stage.site}/?status=sold&limit=10`);
  await page.goto(`${stage.site}/?order=newest&limit=50`);
  await place(page, 'All 46 animals, newest first');
});

test('console › /?id=7 opens one animal after the key was accepted, and an open animal has that link', async (t) => {
  const stage = await stageOf();
  const { page, context } = await visit(t, stage, { path: '/?id=7' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn(page, stage.key);
  const dialog = page.getByRole('dialog', { name: 'Animal 7' });
  await dialog.waitFor();
  await page.reload();
  await dialog.waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.waitForURL(`${stage.site}/`);
  await filter(page, 'Sold').click();
  await place(page, 'Animals 1–15 of 15');
  await page.getByRole('button', { name: 'Animal 9' }).click();
  await page.getByRole('dialog', { name: 'Animal 9' }).waitFor();
  assert.equal(page.url(), `${stage.site}/?status=sold&id=9`);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Copied.').waitFor();
  assert.equal(
    await page.evaluate<string>('navigator.clipboard.readText()'),
    `${stage.site}/?id=9`,
  );
  const refuse = async (status: number): Promise<void> => {
    const body = JSON.stringify({ code: 'some_code', message: 'Words.', status });
    const headers = { 'Retry-After': '100' };
    const response = { status, headers, contentType: 'application/json', body };
    await page.route('**/v1/pets/5', (route) => route.fulfill(response));
    await page.goto(`${stage.site}/?id=5`);
  };
  await refuse(503);
  const again = page.locator('#page-message button', { hasText: 'Try again' });
  await again.waitFor();
  assert.equal(await page.getByRole('timer').count(), 0);
  await page.unroute('**/v1/pets/5');
  await again.click();
  await page.getByRole('dialog', { name: 'Animal 5' }).waitFor();
  assert.equal(await page.locator('#page-message').textContent(), '');
  await refuse(401);
  await page.getByText('This key does not open the catalogue.').waitFor();
  await page.unroute('**/v1/pets/5');
  await page.goto(`${stage.site}/?id=99`);
  await signIn(page, stage.key);
  await page.getByText('No animal has this id', { exact: true }).waitFor();
  await page.goto(`${stage.site}/?id=seven`);
  await page.getByText('This link leads to no animal: an id is a whole number').waitFor();
  await place(page, 'Animals 1–20, more follow');
});

test('console › the animals of the filter, from all pages, are saved as CSV that can be pasted again', async (t) => {
  const pets = Array.from({ length: 120 }, () => PETS.slice(0, 2)).flat();
  const odd = { name: 'Łukasz, "the cat"\n', categoryId: 9223372036854775807n };
  const stage = await Stage.open(t, { pets: [...pets, { ...odd, status: 'sold' }] });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  const saved = async (): Promise<[name: string, text: string]> => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const file = await download;
    return [file.suggestedFilename(), await readFile(await file.path(), 'utf8')];
  };
  const [name, all] = await saved();
  assert.equal(name, 'all-animals.csv');
  assert.equal(all.split('\r\n').length, 1 + 241 + 1);
  await page.getByText('Saved 241 animals.').waitFor();
  await filter(page, 'Sold').click();
  await place(page, 'Animal 1 of 1');
  assert.deepEqual(await saved(), [
    'sold-animals.csv',
    '\uFEFFid,name,categoryId,status\r\n241,"Łukasz, ""the cat""\n",9223372036854775807,sold\r\n',
  ]);
  await page.getByText('Saved 1 animal.', { exact: true }).waitFor();
});

test('console › a download can be stopped, and says so if it fails', async (t) => {
  const stage = await Stage.open(t, { pets: PETS.slice(0, 1) });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animal 1 of 1');
  const held = Promise.withResolvers<void>();
  let status = 0;
  await page.route('**/v1/pets?**', async (route) => {
    if (status === 0) await held.promise;
    const body = JSON.stringify({ code: 'some_code', message: 'Words.', status });
    await route.fulfill({ status, contentType: 'application/json', body }).catch(() => undefined);
  });
  const download = page.locator('#download');
  const told = (words: string) => page.locator('#list-told', { hasText: words }).waitFor();
  await download.click();
  await told('Reading the catalogue …');
  assert.equal(await download.textContent(), 'Stop the download');
  await download.click();
  await told('Stopped. No file was saved.');
  assert.equal(await download.textContent(), 'Download CSV');
  status = 403;
  await download.click();
  await told('This key may not do that. No file was saved.');
  assert.equal(await page.getByLabel('API key').isVisible(), false);
  status = 401;
  await download.click();
  await page.getByText('This key does not open the catalogue. Paste another one.').waitFor();
  held.resolve();
});

test('console › the rows, the focus and the scroll position stay while the next page loads or fails, and it is shown from its first row', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
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

test('console › an animal can be opened: it shows all fields, and its id can be copied; for developers, JSON with visible bidi controls and curl', async (t) => {
  const stage = await Stage.open(t);
  const name = 'O"Malley\u202Eexe\u2069';
  await stage.client().pets.create({ name, categoryId: 9223372036854775807n });
  const { page, context } = await visit(t, stage, { key: await stage.newKey('pets:read') });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'O"Malley' }).click();
  const dialog = page.getByRole('dialog', { name: 'O"Malley' });
  await dialog.waitFor();
  assert.deepEqual(await dialog.locator('dd').allTextContents(), [
    'Available',
    '9223372036854775807',
    '1',
  ]);
  const copied = async (label: string): Promise<string> => {
    await page.evaluate(`navigator.clipboard.writeText('')`);
    await dialog.getByRole('button', { name: label }).click();
    await dialog.getByRole('status').getByText('Copied.').waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
  assert.equal(await copied('Copy id'), '1');
  assert.equal(await dialog.getByRole('button', { name: 'Copy JSON' }).isVisible(), false);
  await dialog.getByText('For developers').click();
  const json =
    '{\n  "id": 1,\n  "name": "O\\"Malley\\u202eexe\\u2069",\n  "categoryId": 9223372036854775807,\n  "status": "available"\n}';
  assert.equal(await copied('Copy JSON'), json);
  assert.equal(await dialog.getByLabel('JSON', { exact: true }).textContent(), json);
  assert.match(await copied('Copy as curl'), /\$PETSTORE_API_KEY" '.*\/v1\/pets\/1'$/);
  // Over plain HTTP from another machine, a page has no clipboard.
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard', {})`);
  await dialog.getByRole('button', { name: 'Copy id' }).click();
  await dialog.getByText('This page has no clipboard.').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate('document.activeElement.textContent'), name);
});

const COUNT = 10_000;
const NAMED = new Map([
  [17, 'Bella'],
  [5_000, 'BÉLLA, the second'],
  [9_999, 'Isabella'],
  [10_000, '<i>9876</i>'],
]);
/** The newest are pending, so that a search of their filter reads three pages. */
const PENDING = 300;
const MANY = Array.from({ length: COUNT }, (_, index) => ({
  name: NAMED.get(index + 1) ?? `Animal ${index + 1}`,
  categoryId: 7,
  status: statusAt(index),
}));

function statusAt(index: number): PetStatus {
  if (index >= COUNT - PENDING) return 'pending';
  return index % 5_000 === 0 ? 'sold' : 'available';
}

/** No test changes them. */
const stageOfMany = stageOfFile({ pets: MANY });

async function openMany(
  t: TestContext,
  path = '/',
): Promise<{ console: ConsolePage; stage: Stage }> {
  const stage = await stageOfMany();
  const { page } = await visit(t, stage, { key: stage.key, path });
  const console = new ConsolePage(page);
  await console.isLoaded();
  return { console, stage };
}

test('console › "bélla" finds three of 10,000 animals, the newest first, and the address keeps the search', async (t) => {
  const { console, stage } = await openMany(t);
  const { page } = console;
  await console.find('bélla');
  await console.listSays('3 of 10,000');
  assert.deepEqual(await console.names(), ['Isabella', 'BÉLLA, the second', 'Bella']);
  assert.equal(page.url(), `${stage.site}/?find=b%C3%A9lla`);
  assert.equal(await page.getByRole('button', { name: 'Next' }).isVisible(), false);
  await console.mark('Bella', 'sold');
  await console.isShown('Bella', 'sold');
  await console.press('Undo');
  await console.isShown('Bella', 'available');
  await console.filter('Sold');
  await page.getByText('Only sold animals were searched.').waitFor();
  await console.listSays('0 of 2');
  await page.reload();
  await console.listSays('0 of 2');
  await page.goBack();
  await console.row('Isabella').waitFor();
  await page.goBack();
  await console.listSays('Animals 1–20, more follow');
  assert.equal(await page.locator('#find-text').inputValue(), '');
});

test('console › an id is found at once, also while the names are still searched, which can be stopped', async (t) => {
  const { console, stage } = await openMany(t, '/?status=pending');
  const { page } = console;
  const held = Promise.withResolvers<void>();
  await page.route('**/v1/pets?**cursor=last**', async (route) => {
    await held.promise;
    await route.continue().catch(() => undefined);
  });
  await console.find(' 9876 ');
  await console.row('Animal 9876').waitFor();
  assert.equal((await page.locator('#place').textContent())?.startsWith('Loading'), true);
  await console.press('Stop');
  await console.listSays('Stopped: 1 found, 0 looked at');
  assert.equal(await console.focused(), 'find-text');
  held.resolve();
  await page.keyboard.press('Enter');
  await console.listSays('2 of 300');
  const found = await console.names();
  assert.deepEqual(found.slice(0, 2), ['Animal 9876', '<i>9876</i>']);
  assert.equal(found.filter((name) => name === 'Animal 9876').length, 1);
  await page.locator('#find-text').fill('');
  await console.listSays('Animals 1–20, more follow');
  assert.equal(page.url(), `${stage.site}/?status=pending`);
  await console.find('no such name');
  await page.getByText('No animal is called no such name').waitFor();
  await console.press('Show the list');
  await console.listSays('Animals 1–20, more follow');
});

test('console › at most 200 found animals are shown, and a search that fails goes on where it was', async (t) => {
  const { console } = await openMany(t, '/?status=pending');
  const { page } = console;
  await console.find('animal');
  await console.listSays('The first 200 are shown, 300 looked at. Write more of the name.');
  assert.equal((await console.names()).length, 200);
  let pages = 0;
  await page.route('**/v1/pets?**', (route) => {
    pages += 1;
    return pages < 2 || pages > 4 ? route.continue() : route.abort();
  });
  await console.find('bella');
  await page.getByText('The service cannot be reached').waitFor();
  await console.listSays('Not complete: 1 found, 100 looked at');
  await console.press('Try again');
  await console.listSays('1 of 300');
  assert.equal(pages, 3 + 3);
});

test('console › a search leaves half of the requests of its key for other work', async (t) => {
  const pets = MANY.slice(0, 2_000);
  const stage = await Stage.open(t, { flags: ['--rate-limit', '20/30s'], pets });
  const { page } = await visit(t, stage, { key: stage.key });
  const console = new ConsolePage(page);
  await console.listSays('Animals 1–20');
  await console.find('bella');
  await console.listSays(/^0 found, \d00 looked at\. Waiting \d+ s, so that half of the requests/);
  for (let more = 0; more < 9; more += 1) await stage.client().pets.list({ limit: 1 }).page();
  await console.press('Stop');
  await console.listSays(/^Stopped: 0 found, \d00 looked at$/);
});

test('console › the whole filter is printed, at most 5,000 animals, with title, date and count, and without controls', async (t) => {
  const { console } = await openMany(t, '/?status=sold');
  const { page } = console;
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
