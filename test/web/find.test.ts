// Finding one animal among many, and the list on paper.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { ConsolePage } from './console-page.ts';
import { assertLooks } from './looks.ts';
import { Stage, stageOfFile, test, until, visit } from './stage.ts';

const COUNT = 10_000;
const NAMED = new Map([
  [17, 'Bella'],
  [5_000, 'BÉLLA, the second'],
  [9_999, 'Isabella'],
  [10_000, '<i>9876</i>'],
]);
const PETS = Array.from({ length: COUNT }, (_, index) => ({
  name: NAMED.get(index + 1) ?? `Animal ${index + 1}`,
  categoryId: 7,
  status: index % 5_000 === 0 ? ('sold' as const) : ('available' as const),
}));

/** No test changes them. */
const stageOf = stageOfFile({ pets: PETS });

async function open(t: TestContext, path = '/'): Promise<{ console: ConsolePage; stage: Stage }> {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { key: stage.key, path });
  const console = new ConsolePage(page);
  await console.isLoaded();
  return { console, stage };
}

test('console › "bélla" finds three of 10,000 animals, the newest first, and the address keeps the search', async (t) => {
  const { console, stage } = await open(t);
  const { page } = console;
  await console.find('bélla');
  await console.listSays('3 of 10,000');
  assert.deepEqual(await console.names(), ['Isabella', 'BÉLLA, the second', 'Bella']);
  assert.equal(page.url(), `${stage.site}/?find=b%C3%A9lla`);
  assert.equal(await page.getByRole('button', { name: 'Next' }).isVisible(), false);
  await page.reload();
  await console.listSays('3 of 10,000');
  await console.mark('Bella', 'sold');
  await console.isShown('Bella', 'sold');
  await console.press('Undo');
  await console.isShown('Bella', 'available');
  await console.filter('Sold');
  await page.getByText('Only sold animals were searched.').waitFor();
  await console.listSays('0 of 2');
  await page.goBack();
  await console.listSays('3 of 10,000');
  await page.goBack();
  await console.listSays('Animals 1–20, more follow');
  assert.equal(await page.locator('#find-text').inputValue(), '');
});

test('console › an id is found at once, also while the names are still searched, which can be stopped', async (t) => {
  const { console, stage } = await open(t);
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
  await console.listSays('2 of 10,000');
  const found = await console.names();
  assert.deepEqual(found.slice(0, 2), ['Animal 9876', '<i>9876</i>']);
  assert.equal(found.filter((name) => name === 'Animal 9876').length, 1);
  await page.locator('#find-text').fill('');
  await console.listSays('Animals 1–20, more follow');
  assert.equal(page.url(), `${stage.site}/`);
  await console.find('no such name');
  await page.getByText('No animal is called no such name').waitFor();
  await console.press('Show the list');
  await console.listSays('Animals 1–20, more follow');
});

test('console › at most 200 found animals are shown, and a search that fails goes on where it was', async (t) => {
  const { console } = await open(t);
  const { page } = console;
  await console.find('animal');
  await console.listSays('The first 200 are shown, 300 looked at. Write more of the name.');
  assert.equal((await console.names()).length, 200);
  let pages = 0;
  await page.route('**/v1/pets?**', (route) => {
    pages += 1;
    return pages < 40 || pages > 42 ? route.continue() : route.abort();
  });
  await console.find('bella');
  await page.getByText('The service cannot be reached').waitFor();
  await console.listSays('Not complete: 1 found, 3,900 looked at');
  await console.press('Try again');
  await console.listSays('3 of 10,000');
  assert.equal(pages, 100 + 3);
});

test('console › a search leaves half of the requests of its key for other work', async (t) => {
  const pets = PETS.slice(0, 2_000);
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
  const { console } = await open(t, '/?status=sold');
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

test('console › find: every state is accessible and fits', async (t) => {
  const { console } = await open(t);
  const { page } = console;
  await console.find('bella');
  await console.listSays('3 of 10,000');
  await assertLooks(page, 'found');
  await console.find('zzz');
  await page.getByText('No animal is called zzz').waitFor();
  await assertLooks(page, 'not-found');
  await page.route('**/v1/pets?**', () => undefined);
  await console.find('rex');
  await until(page, `document.querySelector('#catalogue').ariaBusy === 'true'`);
  await assertLooks(page, 'finding');
});
