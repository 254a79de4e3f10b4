// The first visit, the key, the pages of the list, the form, and everything with the keyboard.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import type { NewPet } from '../../../sdk/src/index.ts';
import { ConsolePage } from '../console-page.ts';
import { Stage, stageOfFile, test, visit } from '../stage.ts';

const CONSOLE_BYTES_MAX = 92 * 1024;
const STATUSES = ['available', 'pending', 'sold'] as const;

function animals(count: number): NewPet[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `Animal ${index + 1}`,
    categoryId: (index % 7) + 1,
    status: STATUSES[index % STATUSES.length],
  }));
}

/** 22 animals, none of which is sold. No test changes them. */
const readStage = stageOfFile({ pets: animals(33).filter(({ status }) => status !== 'sold') });
/** For tests that add animals. Each has names of its own. */
const addStage = stageOfFile({ pets: animals(3) });

async function open(
  t: TestContext,
  stageOf: () => Promise<Stage>,
  options: BrowserContextOptions & { path?: string; key?: string } = {},
): Promise<{ console: ConsolePage; stage: Stage }> {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { key: stage.key, ...options });
  const console = new ConsolePage(page);
  await console.isLoaded();
  return { console, stage };
}

const wrong = (key: string) => `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;

test('console › the first visit asks for a key, and the whole console is loaded with it, in less than 92 KiB including headers; the key survives a reload, is in no URL, and is deleted by "Forget key"', async (t) => {
  const stage = await readStage();
  const { page, context } = await visit(t, stage);
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
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
  t.diagnostic(`first view: ${bytes} bytes with headers`);
  assert.ok(bytes > 10_000 && bytes < CONSOLE_BYTES_MAX, `${bytes} bytes`);
  const modules = () =>
    page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map((e) => e.name).filter((e) => /\\.(ts|css)$/.test(e)).sort()`,
    );
  const loaded = await modules();
  const console = new ConsolePage(page);
  await console.signIn(stage.key);
  await console.isLoaded();
  assert.equal(await console.focused(), 'title');
  await console.press('Add many at once');
  await page.locator('#many:visible').waitFor();
  assert.deepEqual(await modules(), loaded, 'nothing is loaded later');
  await network.detach();

  await page.reload();
  await console.isLoaded();
  const hint = `pet_live_…${stage.key.slice(-4)}`;
  assert.equal(await page.locator('#key-hint').textContent(), hint);
  await page.evaluate(`localStorage.setItem('another.page', 'stays')`);
  await console.press('Forget key');
  await page.getByLabel('API key').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  assert.equal(await page.evaluate('Object.keys(localStorage).join()'), 'another.page');
  assert.equal(addresses.join('\n').includes(stage.key.slice(9, 30)), false);
  assert.equal(page.url().includes('pet_'), false);
});

test('console › if a part of the page does not load, the page says so, and a stored key is asked about again', async (t) => {
  const stage = await readStage();
  const { page } = await visit(t, stage);
  const console = new ConsolePage(page);
  await page.route('**/curl.ts', (route) => route.abort());
  await page.reload();
  await console.says('The page did not load completely.');
  await page.unroute('**/curl.ts');
  await page.reload();
  await page.route('**/console/session', (route) => route.abort());
  await console.signIn(stage.key);
  await page.locator('#key-fault', { hasText: 'The service cannot be reached.' }).waitFor();
  await page.evaluate(`sessionStorage.setItem('petstore.key', ${JSON.stringify(stage.key)})`);
  await page.reload();
  await page.locator('#page-message', { hasText: 'The service cannot be reached' }).waitFor();
  assert.equal(await page.locator('#workspace').isVisible(), false);
  await page.unroute('**/console/session');
  await console.press('Try again');
  await console.isLoaded();
  assert.equal(await page.locator('#page-message').textContent(), '');
});

test('console › the error for a wrong key is beside its field, at once if it is incomplete, with the message of the service one click away', async (t) => {
  const stage = await readStage();
  const { page } = await visit(t, stage, { key: ' ' });
  const console = new ConsolePage(page);
  await console.says('Paste a key first.');
  assert.equal(await console.focused(), 'key');
  let sent = 0;
  page.on('request', (request) => (sent += request.url().includes('/console/') ? 1 : 0));
  for (const [text, words] of [
    [stage.key.slice(0, -1), 'This is only a part of a key: 44 of 45 characters.'],
    [stage.key.slice(1), 'This is not an API key: a key begins with “pet_” and has 45 characters.'],
    ['ключ', 'This is not an API key'],
    ['pet_test_0', 'This is a staging key. This console is for production.'],
  ] as const) {
    await console.signIn(text);
    await page.locator('#key-fault', { hasText: words }).waitFor();
    assert.equal(await console.focused(), 'key');
  }
  assert.equal(sent, 0, 'what cannot be a key is not sent');
  await console.signIn(wrong(stage.key));
  await console.says('This key does not open the catalogue. Paste another one.');
  await page.locator('#key-fault summary', { hasText: 'For developers' }).click();
  await console.says('The API key is malformed; was it copied completely?');
  assert.equal(await page.getByLabel('API key').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('API key').fill('p');
  assert.equal(await page.locator('#key-fault').textContent(), '');
  assert.equal(await page.getByLabel('API key').getAttribute('aria-invalid'), null);
  await console.signIn(` ${stage.key} `);
  await console.isLoaded();
  // Behind a proxy, the console of another environment can have left its key.
  await page.evaluate(`sessionStorage.setItem('petstore.key', 'pet_test_0')`);
  await page.reload();
  await page.getByLabel('API key').waitFor();
  assert.equal(await page.locator('#key-fault').textContent(), '');
});

test('console › "Keep on this computer" is off at first; with it, the key opens a new tab, until "Forget key" in one tab closes all', async (t) => {
  const stage = await readStage();
  const { page, context } = await visit(t, stage);
  const [console, other] = [new ConsolePage(page), new ConsolePage(await context.newPage())];
  const keep = page.getByLabel('Keep on this computer');
  assert.equal(await keep.isChecked(), false);
  await console.says('everyone who uses this browser can open the catalogue');
  assert.equal(await page.getByLabel('API key').getAttribute('autocomplete'), 'current-password');
  await keep.check();
  await console.signIn(wrong(stage.key));
  await console.says('This key does not open the catalogue.');
  assert.equal(await page.evaluate('localStorage.length'), 0, 'a refused key is not kept');
  await console.signIn(stage.key);
  await console.isLoaded();
  await other.page.goto(stage.site);
  await other.isLoaded();
  assert.equal(await other.page.evaluate('sessionStorage.length'), 0);
  await other.press('Forget key');
  await other.page.getByLabel('API key').waitFor();
  assert.equal(await other.page.evaluate('sessionStorage.length + localStorage.length'), 0);
  await page.getByLabel('API key').waitFor();
});

test('console › Next and Previous move through three pages, with any page size; the filter begins at the first page, and what was asked for last is shown', async (t) => {
  const { console } = await open(t, readStage);
  const { page } = console;
  await console.listSays('Animals 1–20, more follow');
  await page.getByLabel('Page size').selectOption('10');
  await console.listSays('Animals 1–10, more follow');
  const first = await console.names();
  await console.press('Next');
  await console.listSays('Animals 11–20, more follow');
  await console.press('Next');
  await console.listSays('Animals 21–22 of 22');
  assert.deepEqual(await console.names(), ['Animal 31', 'Animal 32']);
  assert.equal(await page.locator('#next').getAttribute('aria-disabled'), 'true');
  await console.press('Previous');
  await console.listSays('Animals 11–20');
  await console.press('Previous');
  await console.listSays('Animals 1–10');
  assert.deepEqual(await console.names(), first);
  const entries = await page.evaluate<number>('history.length');
  await page.locator('#previous').click({ force: true });
  assert.equal(await page.evaluate('history.length'), entries, 'no page is before the first');
  await page.getByLabel('Page size').selectOption('100');
  await console.listSays('Animals 1–22 of 22');

  await page.getByLabel('Page size').selectOption('20');
  await console.listSays('Animals 1–20, more follow');
  await console.press('Next');
  await console.listSays('Animals 21–22 of 22');
  await console.filter('Pending');
  await console.listSays('Animals 1–11 of 11');
  assert.deepEqual(new Set(await console.statuses()), new Set(['pending']));
  await console.filter('Sold');
  await console.says('No animal is sold');
  await console.press('Newest');
  await console.listSays('No animals');
  await console.press('Show all');
  await console.listSays('Animals 1–20, newest first, more follow');
  assert.equal(await console.focused(), 'all');
  assert.equal(await page.locator('#list-message').textContent(), '');
  await console.press('Newest');
  await console.listSays('Animals 1–20, more follow');

  const held = { sold: Promise.withResolvers<void>(), pending: Promise.withResolvers<void>() };
  await page.route('**/v1/pets**', async (route) => {
    await held[route.request().url().includes('sold') ? 'sold' : 'pending'].promise;
    // The page may have cancelled the request.
    await route.continue().catch(() => undefined);
  });
  for (const status of ['Sold', 'Pending'] as const) {
    await console.filter(status);
    await page.locator('#catalogue[aria-busy=true]').waitFor();
    await console.listSays('Loading …');
  }
  assert.equal(await page.locator('#list-message').textContent(), '');
  held.pending.resolve();
  await console.listSays('Animals 1–11 of 11');
  held.sold.resolve();
  await page.evaluate(`fetch('docs').then((response) => response.text())`);
  assert.deepEqual(new Set(await console.statuses()), new Set(['pending']));
});

test('console › an empty list invites once, and the first animal is reported with its id and marked in the list', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  const console = new ConsolePage(page);
  await console.says('No animals yet');
  const command = page.locator('#list-message code');
  assert.equal(await command.textContent(), 'petstore import animals.csv');
  // The form has no second button for it, and there are no pages.
  const invitation = page.getByRole('button', { name: 'Paste cells from a spreadsheet' });
  assert.equal(await invitation.isVisible(), true);
  for (const hidden of ['#add-many', '#previous', '#next', '#download']) {
    assert.equal(await page.locator(hidden).isVisible(), false, hidden);
  }
  await page.locator('#add label', { hasText: 'Pending' }).click();
  await console.add('Rex', ' 7 ');
  await page.getByRole('status').getByText('Rex was added with the id 1.').waitFor();
  await page.locator('#rows tr.new .chip.pending').waitFor();
  await console.listSays('The only animal');
});

test('console › after an add, the list begins with the newest, and the form has the category again, "Available" and the focus in its name; int64 values keep all digits, and the form suggests the categories in use', async (t) => {
  const { console, stage } = await open(t, addStage, { path: '/?status=available' });
  const { page } = console;
  await page.locator('#add label', { hasText: 'Pending' }).click();
  await console.add('Zora', '9223372036854775807');
  await console.says(/Zora was added with the id \d+\./);
  await page.locator('#rows tr.new:first-child', { hasText: 'Zora' }).waitFor();
  await console.listSays('newest first');
  assert.equal(page.url(), `${stage.site}/?cursor=last`, 'the filter would leave it out');
  assert.deepEqual(await console.typed(), ['', '9223372036854775807', 'available']);
  assert.equal(await console.focused(), 'name');
  await console.press('Add animal');
  await console.says('Enter a name.');
  assert.equal(await page.locator('#add-outcome').textContent(), '');

  const extremes = ['9223372036854775807', '-9223372036854775808', '9007199254740993'];
  for (const extreme of extremes) {
    await console.add(`Big ${extreme}`, extreme);
    await console.row(`Big ${extreme}`).locator('.category').getByText(extreme).waitFor();
  }
  const suggested = `Array.from(document.getElementById('categoryId').list.options, (e) => e.value)`;
  const values = await page.evaluate<string[]>(suggested);
  assert.equal(values[0], extremes[1]);
  assert.deepEqual(values.slice(-2), [extremes[2], extremes[0]]);
  await console.open(`Big ${extremes[0]}`);
  assert.equal(await page.locator('#edit-categoryId').inputValue(), extremes[0]);
});

test('console › an error of a field is beside that field in plain words, with the message of the service one click away', async (t) => {
  const { console } = await open(t, addStage);
  const { page } = console;
  const added: number[] = [];
  page.on('response', (response) => {
    if (response.request().method() === 'POST') added.push(response.status());
  });
  await console.add('x'.repeat(256), '7');
  await console.says('The name has 256 characters; at most 255 fit.');
  const said = page.getByText('name must be a string of 1 to 255');
  assert.equal(await said.isVisible(), false);
  await page.locator('#name-fault summary').click();
  await said.waitFor();
  assert.equal(await page.locator('#name').getAttribute('aria-invalid'), 'true');
  assert.equal((await console.typed())[0], 'x'.repeat(256));
  assert.equal(await page.locator('#categoryId-fault').textContent(), '');
  for (const [text, words] of [
    ['', 'Enter a category'],
    ['1.5', 'The category is a whole number, such as 7.'],
    ['seven', 'The category is a whole number, such as 7.'],
    ['9223372036854775808', 'The category is a whole number from'],
    ['-9223372036854775809', 'The category is a whole number from'],
  ] as const) {
    await console.add('', text);
    await page.locator('#categoryId-fault', { hasText: words }).waitFor();
    await page.locator('#name-fault', { hasText: 'Enter a name.' }).waitFor();
    assert.equal(await console.focused(), 'name');
  }
  assert.equal(await page.locator('#add-outcome').textContent(), '');
  const invalid = page.locator('#add [aria-invalid=true]');
  assert.equal(await invalid.count(), 2);
  // A new value takes away the error of its own field only.
  await page.locator('#categoryId').fill('x');
  assert.equal(await page.locator('#categoryId-fault').textContent(), '');
  assert.equal(await invalid.getAttribute('id'), 'name');
  await console.add('Rex', 'x');
  assert.equal(await page.locator('#name-fault').textContent(), '');
  await page.locator('#categoryId-fault', { hasText: 'such as 7.' }).waitFor();
  assert.equal(await console.focused(), 'categoryId');
  assert.deepEqual(added, [400]);
});

test('console › a double click adds one animal, even if the response arrives before the second click; and if the response is lost, trying again stores no second animal', async (t) => {
  const { console } = await open(t, addStage);
  const { page } = console;
  let count = 0;
  const held = Promise.withResolvers<void>();
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() === 'POST') count += 1;
    await held.promise;
    await route.continue();
  });
  await console.fill('Ronja', '7');
  await page.getByRole('button', { name: 'Add animal' }).dblclick();
  await page.getByRole('button', { name: 'Adding …' }).click({ force: true });
  held.resolve();
  await console.says('Ronja was added');
  assert.equal(count, 1);
  // The response arrives before the second click, and the form is empty again.
  await console.add('Mimi', '7');
  await console.says('Mimi was added');
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  await console.row('Mimi').waitFor();
  assert.equal(await page.locator('.field-fault:not(:empty)').count(), 0);
  assert.equal(count, 2);

  await page.unrouteAll();
  const sent: (string | undefined)[] = [];
  // More responses are lost than the client library retries, so the user must press the button again.
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    sent.push(route.request().headers()['idempotency-key']);
    const response = await route.fetch();
    return sent.length <= 3 ? route.abort('connectionreset') : route.fulfill({ response });
  });
  await console.add('Lost', '7');
  await console.says('The service cannot be reached');
  const details = (await page.locator('#add-outcome details').textContent()) ?? '';
  assert.match(details, /^For developers(?!.*Request id)/);
  await console.press('Try again');
  await console.says(/Lost was added with the id \d+\./);
  await console.row('Lost').waitFor();
  assert.equal((await console.names()).filter((name) => name === 'Lost').length, 1);
  assert.equal(new Set(sent).size, 1);
  assert.equal(sent.length, 4);
});

test('console › names are shown as text, also if they look like markup or code, and the cells of a long one align at the top', async (t) => {
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
  const pets = hostile.map((name) => ({ name, categoryId: 1 }));
  const stage = await Stage.open(t, { pets });
  const { page } = await visit(t, stage, { key: await stage.newKey('pets:read') });
  const console = new ConsolePage(page);
  await console.listSays(`Animals 1–${hostile.length} of ${hostile.length}`);
  const tops = await page.evaluate<number[]>(`(() => {
    const top = (node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range.getClientRects()[0].top;
    };
    const row = document.querySelector('#rows tr:last-child');
    return Array.from(row.querySelectorAll(':is(bdi, .chip, td.id)'), top);
  })()`);
  assert.equal(tops.length, 3);
  assert.ok(Math.max(...tops) - Math.min(...tops) < 6, tops.join(', '));
  await console.press('Forget key');
  await page.setViewportSize({ width: 360, height: 740 });
  await console.signIn(stage.key);
  await console.isLoaded();
  assert.deepEqual(await console.names(), hostile);
  assert.equal(await page.locator('#workspace :is(img, script, svg, b)').count(), 0);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0);
  await console.add('<img src=x onerror=alert(5)>', '1');
  await console.says('<img src=x onerror=alert(5)> was added');
  await console.find('<script>');
  await console.listSays(`1 of ${hostile.length + 1}`);
  await console.open('</td></table><script>alert(2)</script>');
});

test('console › every view can be copied as a curl command that does not contain the key', async (t) => {
  const { console, stage } = await open(t, readStage);
  const { page } = console;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await console.filter('Pending');
  await console.listSays('Animals 1–11 of 11');
  const header = '-H "Authorization: Bearer $PETSTORE_API_KEY"';
  const copied = async (view: string): Promise<string> => {
    const copy = page.locator(`${view} button`, { hasText: 'Copy as curl' });
    if (!(await copy.isVisible())) await page.locator(`details:has(${view}) summary`).click();
    await copy.click();
    await page.locator(view).getByRole('status').getByLabel('The command').waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
  assert.equal(await copied('#list-curl'), `curl ${header} '${stage.site}/v1/pets?status=pending'`);
  const example = await copied('#add-curl');
  assert.match(example, /-d '\{"name":"Rex","categoryId":7,"status":"available"\}'/);
  await console.fill("O'Malley", ' 8 ');
  assert.equal(
    await copied('#add-curl'),
    `curl ${header} -H 'Content-Type: application/json' -d '{"name":"O'\\''Malley","categoryId":8,"status":"available"}' '${stage.site}/v1/pets'`,
  );
  // A command is shown until its view changes.
  await page.locator('#name').fill('Rex');
  await console.filter('All');
  assert.equal(await page.getByLabel('The command').count(), 0);
  assert.equal((await page.content()).includes(stage.key), false);
});

test('console › everything can be done with the keyboard, and the focus is always visible', async (t) => {
  const stage = await Stage.open(t, { pets: animals(25) });
  const { page } = await visit(t, stage);
  const { keyboard } = page;
  const console = new ConsolePage(page);
  const focus = (): Promise<string> =>
    page.evaluate<string>(`(() => {
      const at = document.activeElement;
      // After the last control of a dialog comes the browser itself.
      if (at === document.body) return '';
      const ring = getComputedStyle(at.type === 'radio' ? at.parentElement : at);
      if (ring.outlineStyle === 'none') throw new Error('no focus ring on ' + at.outerHTML);
      return at.id || at.ariaLabel || at.value || at.textContent.replaceAll(/\\s+/g, ' ').trim();
    })()`);
  /** Tab leads to the control, and this key is pressed there. */
  const press = async (wanted: string, key: string): Promise<void> => {
    for (let presses = 0; presses < 120; presses += 1) {
      await keyboard.press('Tab');
      if ((await focus()) === wanted) return keyboard.press(key);
    }
    assert.fail(`Tab does not lead to ${wanted}.`);
  };
  const type = async (field: string, text: string): Promise<void> => {
    await press(field, 'Control+a');
    await keyboard.insertText(text);
  };
  await page.getByLabel('API key').waitFor();
  await keyboard.insertText(stage.key);
  await keyboard.press('Enter');
  await console.listSays('Animals 1–20, more follow');
  await press('all', 'ArrowRight');
  await console.listSays('Animals 1–9 of 9');
  await keyboard.press('ArrowLeft');
  await console.listSays('Animals 1–20, more follow');
  await press('next', 'Enter');
  await console.listSays('Animals 21–25 of 25');
  assert.equal(await focus(), 'next');
  await type('name', 'Rex');
  await type('categoryId', '7');
  await press('available', 'ArrowRight');
  await press('add-submit', 'Space');
  await console.says('Rex was added with the id 26.');
  assert.equal(await focus(), 'name');
  await type('find-text', '26');
  await keyboard.press('Enter');
  await console.listSays('1 of 26');
  await press('Select Rex', 'Space');
  await page.locator('#selection', { hasText: '1 selected' }).waitFor();
  await press('Sold', 'Enter');
  await console.isShown('Rex', 'sold');
  await page.locator('#select-all:focus').waitFor();
  await press('Undo', 'Enter');
  await console.isShown('Rex', 'pending');
  await press('Status of Rex', 'ArrowDown');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  await console.isShown('Rex', 'sold');
  await keyboard.press('Control+z');
  await console.isShown('Rex', 'pending');
  await press('Rex', 'Enter');
  await page.getByRole('dialog', { name: 'Rex' }).waitFor();
  await type('edit-name', 'Roxy');
  await keyboard.press('Enter');
  await page.locator('#rows button:focus', { hasText: 'Roxy' }).waitFor();
  assert.equal(await focus(), 'Roxy');
  await keyboard.press('Enter');
  await press('Remove …', 'Enter');
  await page.getByRole('dialog', { name: 'Remove Roxy?' }).waitFor();
  await press('Remove it', 'Enter');
  await page.locator('#pet-26').waitFor({ state: 'detached' });
  await page.locator('#title:focus').waitFor();
  await page.evaluate('globalThis.print = () => undefined');
  await press('print-list', 'Enter');
  await console.says(/^Printing: /);
  await press('Forget key', 'Enter');
  await page.getByLabel('API key').waitFor();
});
