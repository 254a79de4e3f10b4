import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { NewPet } from '../../sdk/src/index.ts';
import { ConsolePage } from './console-page.ts';
import { openMany, signIn, Stage, test, visit } from './stage.ts';

const CONSOLE_BYTES_MAX = 92 * 1024;
const STATUSES = ['available', 'pending', 'sold'] as const;
const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 360, height: 740 };

function animals(count: number): NewPet[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `Animal ${index + 1}`,
    categoryId: (index % 7) + 1,
    status: STATUSES[index % STATUSES.length],
  }));
}

const names = (page: Page) => page.locator('#rows .name').allTextContents();
const place = (page: Page, text: string) => page.locator('#place', { hasText: text }).waitFor();
const addButton = (page: Page) => page.getByRole('button', { name: 'Add animal' });

async function fillAnimal(page: Page, name: string, categoryId: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Category', { exact: true }).fill(categoryId);
}

async function assertNoSidewaysScroll(page: Page): Promise<void> {
  assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0);
}

test('console › the first visit asks for a key, and the whole console is loaded with it, in less than 92 KiB including headers', async (t) => {
  const stage = await Stage.open(t);
  const { page, context } = await visit(t, stage);
  const network = await context.newCDPSession(page);
  let bytes = 0;
  network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await network.send('Network.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.reload({ waitUntil: 'networkidle' });

  assert.equal(await page.evaluate('document.activeElement.id'), 'key');
  for (const hidden of ['#workspace', '#kept', '#not-loaded']) {
    assert.equal(await page.locator(hidden).isVisible(), false, hidden);
  }
  const usableMs = await page.evaluate<number>(
    'performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd',
  );
  t.diagnostic(`first view: ${bytes} bytes with headers, usable after ${Math.round(usableMs)} ms`);
  assert.ok(bytes > 10_000 && bytes < CONSOLE_BYTES_MAX, `${bytes} bytes`);
  const modules = () =>
    page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map((e) => e.name).filter((e) => /\\.(ts|css)$/.test(e)).sort()`,
    );
  const loaded = await modules();
  await signIn(page, stage.key);
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  assert.deepEqual(await modules(), loaded, 'nothing is loaded later');
  await network.detach();
});

test('console › if a part of the page does not load, the page says so, and a stored key is asked about again', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage);
  await page.route('**/curl.ts', (route) => route.abort());
  await page.reload();
  await page.getByText('The page did not load completely.').waitFor();
  await page.unroute('**/curl.ts');
  await page.reload();
  await page.route('**/console/session', (route) => route.abort());
  await signIn(page, stage.key);
  await page.locator('#key-fault', { hasText: 'The service cannot be reached.' }).waitFor();
  await page.evaluate(`sessionStorage.setItem('petstore.key', ${JSON.stringify(stage.key)})`);
  await page.reload();
  await page.locator('#page-message', { hasText: 'The service cannot be reached' }).waitFor();
  assert.equal(await page.locator('#workspace').isVisible(), false);
  await page.unroute('**/console/session');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No animals yet').waitFor();
  assert.equal(await page.locator('#page-message').textContent(), '');
});

test('console › the error for a wrong key is beside its field, at once if it is incomplete, with the message of the service one click away', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: ' ' });
  await page.getByText('Paste a key first.').waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'key');
  let sent = 0;
  page.on('request', (request) => (sent += request.url().includes('/v1/') ? 1 : 0));
  for (const [text, words] of [
    [stage.key.slice(0, -1), 'This is only a part of a key: 44 of 45 characters.'],
    [stage.key.slice(1), 'This is not an API key: a key begins with “pet_” and has 45 characters.'],
    ['ключ', 'This is not an API key'],
  ] as const) {
    await signIn(page, text);
    await page.locator('#key-fault', { hasText: words }).waitFor();
  }
  assert.equal(sent, 0, 'what cannot be a key is not sent');
  await signIn(page, `${stage.key.slice(0, -1)}${stage.key.endsWith('0') ? '1' : '0'}`);
  await page.getByText('This key does not open the catalogue. Paste another one.').waitFor();
  await page.locator('#key-fault summary', { hasText: 'For developers' }).click();
  await page.getByText('The API key is malformed; was it copied completely?').waitFor();
  assert.equal(await page.getByLabel('API key').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('API key').fill('p');
  assert.equal(await page.locator('#key-fault').textContent(), '');
  assert.equal(await page.getByLabel('API key').getAttribute('aria-invalid'), null);
  await signIn(page, ` ${stage.key} `);
  await page.getByText('No animals yet').waitFor();
});

test('console › the key survives a reload, is in no URL, and is deleted by "Forget key"', async (t) => {
  const stage = await Stage.open(t, { pets: animals(1) });
  const { page, context } = await visit(t, stage);
  const addresses: string[] = [];
  context.on('request', (request) => addresses.push(request.url()));
  await signIn(page, stage.key);
  await place(page, 'Animal 1 of 1');
  assert.equal(await page.evaluate('document.activeElement.id'), 'title');
  await page.reload();
  await place(page, 'Animal 1 of 1');
  const hint = `pet_live_…${stage.key.slice(-4)}`;
  assert.equal(await page.locator('#key-hint').textContent(), hint);
  await page.evaluate(`localStorage.setItem('another.page', 'stays')`);
  await page.getByRole('button', { name: 'Forget key' }).click();
  await page.getByLabel('API key').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  assert.equal(await page.evaluate('Object.keys(localStorage).join()'), 'another.page');
  assert.equal(addresses.join('\n').includes(stage.key.slice(9, 30)), false);
  assert.equal(page.url().includes('pet_'), false);
  const another = await context.newPage();
  await another.goto(stage.site);
  await another.getByLabel('API key').waitFor();
});

test('console › "Keep on this computer" is off at first; with it, the key opens a new tab, until "Forget key" in one tab closes all', async (t) => {
  const stage = await Stage.open(t, { pets: animals(1) });
  const { page, context } = await visit(t, stage);
  const keep = page.getByLabel('Keep on this computer');
  assert.equal(await keep.isChecked(), false);
  await page.getByText('everyone who uses this browser can open the catalogue').waitFor();
  const field = page.getByLabel('API key');
  assert.equal(await field.getAttribute('autocomplete'), 'current-password');
  await keep.check();
  await signIn(page, `${stage.key.slice(0, -1)}${stage.key.endsWith('0') ? '1' : '0'}`);
  await page.getByText('This key does not open the catalogue.').waitFor();
  assert.equal(await page.evaluate('localStorage.length'), 0, 'a refused key is not kept');
  await signIn(page, stage.key);
  await place(page, 'Animal 1 of 1');
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  const another = await context.newPage();
  await another.goto(stage.site);
  await place(another, 'Animal 1 of 1');
  assert.equal(await another.evaluate('sessionStorage.length'), 0);
  await another.getByRole('button', { name: 'Forget key' }).click();
  await another.getByLabel('API key').waitFor();
  assert.equal(await another.evaluate('sessionStorage.length + localStorage.length'), 0);
  await page.getByLabel('API key').waitFor();
});

test('console › a key of another environment is refused before it is sent, in words that name both', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: 'pet_test_0' });
  await page.getByText('This is a staging key. This console is for production.').waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'key');
  await page.evaluate(`sessionStorage.setItem('petstore.key', 'pet_test_0')`);
  await page.reload();
  await page.getByLabel('API key').waitFor();
  assert.equal(await page.locator('#key-fault').textContent(), '');
});

test('console › Next and Previous move through three pages, with any page size', async (t) => {
  const stage = await Stage.open(t, { pets: animals(23) });
  const { page } = await visit(t, stage, { key: stage.key, viewport: WIDE });
  await place(page, 'Animals 1–20, more follow');
  await page.getByLabel('Page size').selectOption('10');
  await place(page, 'Animals 1–10, more follow');
  const first = await names(page);
  await page.getByRole('button', { name: 'Next' }).click();
  await place(page, 'Animals 11–20, more follow');
  await page.getByRole('button', { name: 'Next' }).click();
  await place(page, 'Animals 21–23 of 23');
  assert.deepEqual(await names(page), ['Animal 21', 'Animal 22', 'Animal 23']);
  const next = page.getByRole('button', { name: 'Next' });
  assert.equal(await next.getAttribute('aria-disabled'), 'true');
  await page.getByRole('button', { name: 'Previous' }).click();
  await place(page, 'Animals 11–20');
  await page.getByRole('button', { name: 'Previous' }).click();
  await place(page, 'Animals 1–10');
  assert.deepEqual(await names(page), first);
  const entries = await page.evaluate<number>('history.length');
  await page.getByRole('button', { name: 'Previous' }).click({ force: true });
  assert.equal(await page.evaluate('history.length'), entries, 'no page is before the first');
  await page.getByLabel('Page size').selectOption('100');
  await place(page, 'Animals 1–23 of 23');
});

test('console › the filter shows the animals of one status, from the first page', async (t) => {
  const pets = animals(33).filter(({ status }) => status !== 'sold');
  const stage = await Stage.open(t, { pets });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–20, more follow');
  await page.getByRole('button', { name: 'Next' }).click();
  await place(page, 'Animals 21–22 of 22');
  await page.locator('#filter label', { hasText: 'Pending' }).click();
  await place(page, 'Animals 1–11 of 11');
  assert.deepEqual(new Set(await new ConsolePage(page).statuses()), new Set(['pending']));
  await page.locator('#filter label', { hasText: 'Sold' }).click();
  await page.getByText('No animal is sold').waitFor();
  const newest = page.getByRole('button', { name: 'Newest' });
  await newest.click();
  await place(page, 'No animals');
  await page.getByRole('button', { name: 'Show all' }).click();
  await place(page, 'Animals 1–20, newest first, more follow');
  assert.equal(await page.evaluate('document.activeElement.id'), 'all');
  assert.equal(await page.locator('#list-message').textContent(), '');
  await newest.click();
  await place(page, 'Animals 1–20, more follow');
});

test('console › a page that is loading is shown as loading, and the last that was asked for is shown', async (t) => {
  const stage = await Stage.open(t, { pets: animals(3) });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–3 of 3');
  const held = { sold: Promise.withResolvers<void>(), pending: Promise.withResolvers<void>() };
  await page.route('**/v1/pets**', async (route) => {
    await held[route.request().url().includes('sold') ? 'sold' : 'pending'].promise;
    // The page may have cancelled the request.
    await route.continue().catch(() => undefined);
  });
  await page.locator('#filter label', { hasText: 'Sold' }).click();
  await page.locator('#catalogue[aria-busy=true]').waitFor();
  await place(page, 'Loading …');
  await page.locator('#filter label', { hasText: 'Pending' }).click();
  await place(page, 'Loading …');
  assert.equal(await page.locator('#list-message').textContent(), '');
  held.pending.resolve();
  await page.locator('#catalogue[aria-busy=false]').waitFor();
  await place(page, 'Animal 1 of 1');
  held.sold.resolve();
  await page.evaluate(`fetch('docs').then((response) => response.text())`);
  assert.deepEqual(await new ConsolePage(page).statuses(), ['pending']);
});

test('console › an added animal is reported with its id and marked in the list', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key, viewport: WIDE });
  await page.getByText('No animals yet').waitFor();
  const command = page.locator('#list-message code');
  assert.equal(await command.textContent(), 'petstore import animals.csv');
  // An empty list invites once: the form has no second button for it, and there are no pages.
  const invitation = page.getByRole('button', { name: 'Paste cells from a spreadsheet' });
  assert.equal(await invitation.isVisible(), true);
  for (const hidden of ['#add-many', '#previous', '#next', '#download']) {
    assert.equal(await page.locator(hidden).isVisible(), false, hidden);
  }
  await fillAnimal(page, 'Rex', ' 7 ');
  await page.locator('#add label', { hasText: 'Pending' }).click();
  await addButton(page).click();
  await page.getByRole('status').getByText('Rex was added with the id 1.').waitFor();
  await page.locator('#rows tr.new .chip.pending').waitFor();
  await place(page, 'The only animal');
});

test('console › after an add, the list begins with the newest, and the form has the category again, "Available" and the focus in its name', async (t) => {
  const stage = await Stage.open(t, { pets: animals(23) });
  const { page } = await visit(t, stage, { key: stage.key, path: '/?status=available' });
  await place(page, 'Animals 1–8 of 8');
  await page.locator('#add label', { hasText: 'Pending' }).click();
  await fillAnimal(page, 'Rex', '9223372036854775807');
  await addButton(page).click();
  await page.getByText('Rex was added with the id 24.').waitFor();
  await page.locator('#rows tr.new:first-child', { hasText: 'Rex' }).waitFor();
  await place(page, 'Animals 1–20, newest first, more follow');
  assert.equal(page.url(), `${stage.site}/?cursor=last`, 'the filter would leave it out');
  assert.equal(await page.getByLabel('Name').inputValue(), '');
  assert.equal(await page.evaluate('document.activeElement.id'), 'name');
  assert.equal(
    await page.getByLabel('Category', { exact: true }).inputValue(),
    '9223372036854775807',
  );
  assert.equal(await page.locator('#add input[value=available]').isChecked(), true);
  await addButton(page).click();
  await page.getByText('Enter a name.').waitFor();
  assert.equal(await page.locator('#add-outcome').textContent(), '');
});

test('console › an error of a field is beside that field in plain words, with the message of the service one click away', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key, viewport: WIDE });
  await page.getByText('No animals yet').waitFor();
  await fillAnimal(page, 'x'.repeat(256), '7');
  await addButton(page).click();
  await page.getByText('The name has 256 characters; at most 255 fit.').waitFor();
  const said = page.getByText('name must be a string of 1 to 255');
  assert.equal(await said.isVisible(), false);
  await page.locator('#name-fault summary').click();
  await said.waitFor();
  assert.equal(await page.getByLabel('Name').getAttribute('aria-invalid'), 'true');
  assert.equal(await page.getByLabel('Name').inputValue(), 'x'.repeat(256));
  assert.equal(await page.locator('#categoryId-fault').textContent(), '');

  for (const [wrong, words] of [
    ['', 'Enter a category'],
    ['1.5', 'The category is a whole number, such as 7.'],
    ['seven', 'The category is a whole number, such as 7.'],
    ['9223372036854775808', 'The category is a whole number from'],
    ['-9223372036854775809', 'The category is a whole number from'],
  ] as const) {
    await fillAnimal(page, '', wrong);
    await addButton(page).click();
    await page.locator('#categoryId-fault', { hasText: words }).waitFor();
    await page.locator('#name-fault', { hasText: 'Enter a name.' }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.id'), 'name');
  }
  assert.equal(await page.locator('#add-outcome').textContent(), '');
  const invalid = page.locator('#add [aria-invalid=true]');
  assert.equal(await invalid.count(), 2);
  // A new value takes away the error of its own field only.
  await page.getByLabel('Category', { exact: true }).fill('x');
  assert.equal(await page.locator('#categoryId-fault').textContent(), '');
  assert.equal(await invalid.getAttribute('id'), 'name');
  await page.getByLabel('Name').fill('Rex');
  assert.equal(await page.locator('#name-fault').textContent(), '');
  await addButton(page).click();
  await page.locator('#categoryId-fault', { hasText: 'such as 7.' }).waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'categoryId');
  assert.equal((await stage.client().pets.list().page()).pets.length, 0);
});

test('console › a double click adds one animal, even if the response arrives before the second click', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  let sent = 0;
  const held = Promise.withResolvers<void>();
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() === 'POST') sent += 1;
    await held.promise;
    await route.continue();
  });
  await fillAnimal(page, 'Rex', '7');
  await addButton(page).dblclick();
  await page.getByRole('button', { name: 'Adding …' }).click({ force: true });
  held.resolve();
  await page.getByText('Rex was added').waitFor();
  assert.equal(sent, 1);

  // The response arrives before the second click, and the form is empty again.
  await fillAnimal(page, 'Mimi', '7');
  await addButton(page).click();
  await page.getByText('Mimi was added').waitFor();
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  await place(page, 'All 2 animals');
  assert.equal(await page.locator('.field-fault:not(:empty)').count(), 0);
  assert.equal((await stage.client().pets.list().page()).pets.length, 2);
});

test('console › if the response to a create is lost, trying again stores no second animal', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  const sent: (string | undefined)[] = [];
  // More responses are lost than the client library retries, so the user must press the button again.
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    sent.push(route.request().headers()['idempotency-key']);
    const response = await route.fetch();
    return sent.length <= 3 ? route.abort('connectionreset') : route.fulfill({ response });
  });
  await fillAnimal(page, 'Rex', '7');
  await addButton(page).click();
  await page.getByText('The service cannot be reached').waitFor();
  const details = (await page.locator('#add-outcome details').textContent()) ?? '';
  assert.match(details, /^For developers(?!.*Request id)/);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Rex was added with the id 1.').waitFor();
  assert.equal(new Set(sent).size, 1);
  assert.equal(sent.length, 4);
  await place(page, 'The only animal');
});

test('console › the cells of a row with a long name align at the top', async (t) => {
  const stage = await Stage.open(t, { pets: [{ name: 'long name '.repeat(25), categoryId: 7 }] });
  const key = await stage.newKey('pets:read');
  const { page } = await visit(t, stage, { key, viewport: WIDE });
  await place(page, 'Animal 1 of 1');
  const tops = await page.evaluate<number[]>(`(() => {
    const top = (node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range.getClientRects()[0].top;
    };
    return Array.from(document.querySelectorAll('#rows td :is(bdi, .chip), #rows td.id'), top);
  })()`);
  assert.equal(tops.length, 3);
  assert.ok(Math.max(...tops) - Math.min(...tops) < 6, tops.join(', '));
});

test('console › names are shown as text, also if they look like markup or code', async (t) => {
  const hostile = [
    '<img src=x onerror=alert(1)>',
    '</td></table><script>alert(2)</script>',
    '"><svg/onload=alert(3)>',
    'javascript:alert(4)',
    '{{7*7}}${7*7}',
    '&lt;b&gt;',
    '\u202Egnp.exe',
    'שלום עולם',
    'two\nlines\tand a tab',
    '🦊'.repeat(255),
  ];
  const stage = await Stage.open(t, { pets: hostile.map((name) => ({ name, categoryId: 1 })) });
  const { page } = await visit(t, stage, { key: stage.key, viewport: PHONE });
  await place(page, `Animals 1–${hostile.length} of ${hostile.length}`);
  assert.deepEqual(await names(page), hostile);
  assert.equal(await page.locator('#workspace :is(img, script, svg, b)').count(), 0);
  await assertNoSidewaysScroll(page);
  await fillAnimal(page, '<img src=x onerror=alert(5)>', '1');
  await addButton(page).click();
  await page.getByText('<img src=x onerror=alert(5)> was added').waitFor();
  const console = new ConsolePage(page);
  await console.find('<script>');
  await console.listSays(`1 of ${hostile.length + 1}`);
  await console.open('</td></table><script>alert(2)</script>');
});

test('console › int64 values are shown with all digits, and the form suggests the categories in use', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  for (const extreme of ['9223372036854775807', '-9223372036854775808', '9007199254740993']) {
    await fillAnimal(page, 'Big', extreme);
    await addButton(page).click();
    await page.locator('#rows .category', { hasText: new RegExp(`^${extreme}$`) }).waitFor();
  }
  const suggested = `Array.from(document.getElementById('categoryId').list.options, (e) => e.value)`;
  assert.deepEqual(await page.evaluate(suggested), [
    '-9223372036854775808',
    '9007199254740993',
    '9223372036854775807',
  ]);
  await page.getByRole('button', { name: 'Big' }).last().click();
  assert.equal(await page.locator('#edit-categoryId').inputValue(), '9223372036854775807');
});

test('console › every view can be copied as a curl command that does not contain the key', async (t) => {
  const stage = await Stage.open(t, { pets: animals(3) });
  const { page, context } = await visit(t, stage, { key: stage.key });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('#filter label', { hasText: 'Sold' }).click();
  await place(page, 'Animal 1 of 1');
  const header = '-H "Authorization: Bearer $PETSTORE_API_KEY"';
  const copied = async (view: string): Promise<string> => {
    const copy = page.locator(`${view} button`, { hasText: 'Copy as curl' });
    if (!(await copy.isVisible())) await page.locator(`details:has(${view}) summary`).click();
    await copy.click();
    await page.locator(view).getByRole('status').getByLabel('The command').waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
  assert.equal(await copied('#list-curl'), `curl ${header} '${stage.site}/v1/pets?status=sold'`);
  const example = await copied('#add-curl');
  assert.match(example, /-d '\{"name":"Rex","categoryId":7,"status":"available"\}'/);
  await fillAnimal(page, "O'Malley", ' 8 ');
  assert.equal(
    await copied('#add-curl'),
    `curl ${header} -H 'Content-Type: application/json' -d '{"name":"O'\\''Malley","categoryId":8,"status":"available"}' '${stage.site}/v1/pets'`,
  );
  // A command is shown until its view changes.
  await page.getByLabel('Name').fill('Rex');
  await page.locator('#filter label', { hasText: 'All' }).click();
  assert.equal(await page.getByLabel('The command').count(), 0);
  assert.equal((await stage.client().pets.list().page()).pets.length, 3);
  assert.equal((await page.content()).includes(stage.key), false);
});

test('console › everything can be done with the keyboard, and the focus is always visible', async (t) => {
  const stage = await Stage.open(t, { pets: animals(25) });
  const { page } = await visit(t, stage, { viewport: WIDE });
  const { keyboard } = page;
  const focus = (): Promise<string> =>
    page.evaluate<string>(`(() => {
      const at = document.activeElement;
      // After the last control of a dialog comes the browser itself.
      if (at === document.body) return '';
      const ring = getComputedStyle(at.type === 'radio' ? at.parentElement : at);
      if (ring.outlineStyle === 'none') throw new Error('no focus ring on ' + at.outerHTML);
      return at.id || at.ariaLabel || at.value || at.textContent.replaceAll(/\\s+/g, ' ').trim();
    })()`);
  const tabTo = async (wanted: string): Promise<void> => {
    for (let presses = 0; presses < 120; presses += 1) {
      await keyboard.press('Tab');
      if ((await focus()) === wanted) return;
    }
    assert.fail(`Tab does not lead to ${wanted}.`);
  };
  await page.getByLabel('API key').waitFor();
  await keyboard.insertText(stage.key);
  await keyboard.press('Enter');
  await place(page, 'Animals 1–20, more follow');
  await tabTo('all');
  await keyboard.press('ArrowRight');
  await place(page, 'Animals 1–9 of 9');
  await keyboard.press('ArrowLeft');
  await place(page, 'Animals 1–20, more follow');
  await tabTo('next');
  await keyboard.press('Enter');
  await place(page, 'Animals 21–25 of 25');
  assert.equal(await focus(), 'next');
  await tabTo('name');
  await keyboard.insertText('Rex');
  await tabTo('categoryId');
  await keyboard.insertText('7');
  await tabTo('available');
  await keyboard.press('ArrowRight');
  await tabTo('add-submit');
  await keyboard.press('Space');
  await page.getByText('Rex was added with the id 26.').waitFor();
  assert.equal(await focus(), 'name');
  await tabTo('find-text');
  await keyboard.insertText('26');
  await keyboard.press('Enter');
  await place(page, '1 of 26');
  await tabTo('Select Rex');
  await keyboard.press('Space');
  await page.locator('#selection', { hasText: '1 selected' }).waitFor();
  await tabTo('Rex');
  await keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Rex' }).waitFor();
  await tabTo('Remove …');
  await keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Remove Rex?' }).waitFor();
  await tabTo('Remove it');
  await keyboard.press('Enter');
  await page.locator('#pet-26').waitFor({ state: 'detached' });
});
