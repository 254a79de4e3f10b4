import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Pet } from '../../../sdk/src/index.ts';
import { CuttableLink } from './cuttable-link.ts';
import { openMany, signIn, Stage, test, visit } from '../stage.ts';

const ROWS = 120;
const STATUSES = ['available', 'pending', 'sold', ''];

const list = (page: Page) => page.getByLabel('Paste CSV, cells of a spreadsheet or JSON');
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click();

function csvOf(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    return `"Animal ${index + 1}, of ${count}",${index + 1},${STATUSES[index % 4]}`;
  });
  return ['name,categoryId,status', ...lines].join('\n');
}

/** Animals without a category, as JSON. */
function faulty(count: number): string[] {
  return Array.from({ length: count }, () => '{"name":"Rex"}');
}

function allPets(stage: Stage): Promise<Pet[]> {
  return Array.fromAsync(stage.client().pets.list({ limit: 100 }));
}

async function reportOf(page: Page): Promise<string[]> {
  const download = page.waitForEvent('download');
  await press(page, 'Download the report');
  const file = await (await download).path();
  const text = await readFile(file, 'utf8');
  assert.ok(text.startsWith('\uFEFF'), 'a spreadsheet reads it as UTF-8');
  return text.slice(1).trimEnd().split('\r\n');
}

test('console › 120 pasted rows become exactly 120 animals, in their order, although the connection is cut twice', async (t) => {
  const stage = await Stage.open(t);
  const link = await CuttableLink.open(stage.site);
  t.after(() => link.close());
  const { page } = await visit(t, stage, { site: link.site, key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  await list(page).fill(csvOf(ROWS));
  await press(page, `Add ${ROWS} animals`);
  for (const post of [30, 80]) {
    // The animal is stored, its response is lost, and nothing passes until the link is mended.
    link.losing = post;
    await page.getByText('The service cannot be reached. No animal is added twice.').waitFor();
    assert.equal(link.isCut, true);
    link.mend();
    await press(page, 'Try now');
  }
  await page.getByText('Finished. The report has every line.').waitFor();
  assert.equal(
    await page.locator('#many .title').first().textContent(),
    `${ROWS} of ${ROWS} added`,
  );

  const pets = await allPets(stage);
  assert.equal(pets.length, ROWS);
  assert.deepEqual(
    pets.map(({ name }) => name),
    Array.from({ length: ROWS }, (_, index) => `Animal ${index + 1}, of ${ROWS}`),
  );
  assert.ok(link.posts > ROWS, `${link.posts} requests`);
  const report = await reportOf(page);
  assert.equal(report.length, ROWS + 1);
  assert.equal(report[0], 'line,outcome,id,name,categoryId,status,reason');
  assert.equal(
    report[ROWS],
    `${ROWS + 1},added,${ROWS},"Animal ${ROWS}, of ${ROWS}",${ROWS},available,`,
  );
});

test('console › a pasted list is read as petstore import reads it, and its faults are listed by line', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.locator('.empty button', { hasText: 'Paste cells from a spreadsheet' }).click();
  await list(page).waitFor();
  const faults = page.locator('#many .faults li');
  await list(page).fill('name,categoryId\n,7\nRex,x\n"two\nlines",9223372036854775807\nMimi\n');
  await page.locator('#many', { hasText: 'Add 1 animal' }).waitFor();
  assert.deepEqual(await faults.allTextContents(), [
    'Line 2 Enter a name.',
    'Line 3 The category is a whole number, such as 7.',
    'Line 6 The line has 1 fields: it must have 2, one for each column of the header.',
  ]);
  await list(page).fill('colours\nred');
  await page.getByRole('alert').getByText('The first line must name its columns').waitFor();
  await list(page).fill(
    '{"name":"Rex","categoryId":1e2,"id":9}\n{"name":"","status":"lost"}\n[]\nx\n{"name":"Mimi","categoryId":3}',
  );
  await page.locator('#many', { hasText: 'Add 2 animals' }).waitFor();
  assert.deepEqual(await faults.allTextContents(), [
    'Line 2 Enter a name. Enter a category, such as 7. The status is available, pending or sold.',
    'Line 3 The line is not one JSON object.',
    'Line 4 The line is not JSON. Write one JSON object per line.',
  ]);
  await page.route('**/v1/pets', (route) => {
    if (route.request().postData()?.includes('Mimi') !== true) return route.continue();
    const body = JSON.stringify({ code: 'invalid_field', message: 'No cats.', status: 400 });
    return route.fulfill({ status: 400, contentType: 'application/json', body });
  });
  await press(page, 'Add 2 animals');
  const outcome = 'Finished. Refused by the service: 1. Lines left out for a fault: 3.';
  await page.getByText(`${outcome} The report has every line.`).waitFor();
  await page.getByText('1 of 2 added', { exact: true }).waitFor();
  assert.equal(await page.evaluate(`document.querySelector('#many progress').value`), 2);
  assert.deepEqual(await reportOf(page), [
    'line,outcome,id,name,categoryId,status,reason',
    '1,added,1,Rex,100,available,',
    '2,left out,,,,,"Enter a name. Enter a category, such as 7. The status is available, pending or sold."',
    '3,left out,,,,,The line is not one JSON object.',
    '4,left out,,,,,The line is not JSON. Write one JSON object per line.',
    '5,refused,,Mimi,3,available,No cats.',
  ]);
  const [rex] = await allPets(stage);
  assert.equal(rex?.categoryId, 100n);
});

const pastes: [what: string, text: string, words: string][] = [
  [
    'cells of a spreadsheet, with the headings of the console',
    'Id\tName\tCategory\tStatus\n1\tRex\t7\tAvailable\n2\tMimi, the cat\t3\tSold\n',
    'A table separated by tabs: name from "Name", category from "Category", status from "Status". Not used: Id.',
  ],
  [
    'semicolons',
    'category id;name;STATUS\r\n7;Rex;\r\n3;Mimi, the cat;Sold\r\n',
    'A table separated by semicolons: name from "name", category from "category id", status from "STATUS".',
  ],
  [
    'a JSON array, as the interface returns it',
    '[{"id":1,"name":"Rex","categoryId":7,"status":"available"},\n{"id":2,"name":"Mimi, the cat","categoryId":3,"status":"sold"}]',
    'A JSON array.',
  ],
];
test('console › cells of a spreadsheet, semicolons and a JSON array can be pasted, and the preview shows which column was taken for what', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  for (const [what, text, words] of pastes) {
    await list(page).fill(text);
    await page.getByText(words, { exact: true }).waitFor();
    const cells = await page.locator('#many tbody td').allTextContents();
    const numbers = words === 'A JSON array.' ? ['1', '2'] : ['2', '3'];
    const [first = '', second = ''] = numbers;
    const expected = [first, 'Rex', '7', 'Available', second, 'Mimi, the cat', '3', 'Sold'];
    assert.deepEqual(cells, expected, what);
    const unit = words === 'A JSON array.' ? 'Item' : 'Line';
    const heads = await page.locator('#many th').allTextContents();
    assert.deepEqual(heads, [unit, 'Name', 'Category', 'Status']);
    assert.equal(await page.locator('#many .notice').count(), 0);
    assert.equal(await page.getByText(/^and \d+ more$/).count(), 0);
  }
  await press(page, 'Add 2 animals');
  await page.getByText('Finished. The report has every line.').waitFor();
  const pets = await allPets(stage);
  assert.deepEqual(
    pets.map(({ name, categoryId, status }) => [name, categoryId, status]),
    [
      ['Rex', 7n, 'available'],
      ['Mimi, the cat', 3n, 'sold'],
    ],
  );
});

test('console › the preview shows 5 animals and 20 faults, says how many more there are, and is gone after "Close"', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  assert.equal(await page.evaluate('document.activeElement.id'), 'many-text');
  assert.equal(await page.locator('#many progress').isVisible(), false);
  const notice = page.locator('#many .notice');
  const rex = '{"name":"Rex","categoryId":7}';
  for (const [text, words, items, rows] of [
    [`[${[rex, ...faulty(1)].join()}]`, '1 item has a faultIt is left out unless', 1, 1],
    [`[${[rex, ...faulty(21)].join()}]`, '21 items have a faultThey are left out unless', 20, 1],
    [faulty(1).join('\n'), '1 line has a faultNothing can be added.', 1, 0],
  ] as const) {
    await list(page).fill(text);
    await notice.filter({ hasText: words }).waitFor();
    assert.equal(await notice.locator('li').count(), items);
    assert.equal(
      await notice.getByText('and 1 more', { exact: true }).count(),
      items === 20 ? 1 : 0,
    );
    assert.equal(await notice.locator('b').first().textContent(), rows === 1 ? 'Item 2' : 'Line 1');
    assert.equal(await page.locator('#many tbody tr').count(), rows);
    assert.equal(await page.locator('#many .primary').count(), rows);
  }
  await list(page).fill('');
  await notice.waitFor({ state: 'detached' });
  assert.equal(await page.locator('#many .preview').count(), 0);

  const chooser = page.waitForEvent('filechooser');
  await press(page, 'Choose a file');
  const buffer = Buffer.from(csvOf(8));
  await (await chooser).setFiles({ name: 'animals.csv', mimeType: 'text/csv', buffer });
  await page.locator('#many').getByText('and 3 more', { exact: true }).waitFor();
  assert.equal(await list(page).inputValue(), csvOf(8));
  assert.equal(await page.locator('#many tbody tr').count(), 5);
  await press(page, 'Close');
  const focused = await page.evaluate('document.activeElement.textContent');
  assert.equal(focused, 'Paste cells from a spreadsheet');
  await openMany(page);
  assert.equal(await list(page).inputValue(), '');
  assert.equal(await page.locator('#many .preview').count(), 0);
});

test('console › a list that waits goes on when the network is back, and the page asks before it is left', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  const send = (type: string) =>
    page.evaluate<boolean>(`dispatchEvent(new Event('${type}', { cancelable: true }))`);
  let isBusy = true;
  await page.route('**/v1/pets', (route) => {
    if (route.request().method() !== 'POST' || !isBusy) return route.continue();
    const body = JSON.stringify({ code: 'overloaded', message: 'Busy.', status: 503 });
    const headers = { 'Retry-After': '100' };
    return route.fulfill({ status: 503, headers, contentType: 'application/json', body });
  });
  await send('online');
  assert.equal(await send('beforeunload'), true);
  await list(page).fill(csvOf(2));
  await press(page, 'Add 2 animals');
  const focused = await page.evaluate<string>('document.activeElement.textContent');
  assert.match(focused, /^(Pause|Try now)$/);
  await page.locator('#many', { hasText: 'Trying again in' }).waitFor();
  await page.getByText('0 of 2 added', { exact: true }).waitFor();
  for (const name of ['Close', 'Download the report', 'Choose a file']) {
    assert.equal(await page.getByRole('button', { name }).isVisible(), false, name);
  }
  assert.equal(await page.locator('#many .preview').count(), 0);
  await page.locator('#add-many').click();
  assert.equal(await page.evaluate('document.activeElement.id'), 'many-title');
  assert.equal(await send('beforeunload'), false);
  isBusy = false;
  await send('online');
  await page.getByText('Finished. The report has every line.').waitFor();
  assert.equal(await send('beforeunload'), true);
});

test('console › a list that the key may not add waits for another key', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: await stage.newKey('pets:read') });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  await list(page).fill(csvOf(1));
  await press(page, 'Add 1 animal');
  await page.getByText('This key cannot add animals').waitFor();
  assert.equal(await page.locator('#many').isVisible(), false);
  await press(page, 'Use another key');
  await signIn(page, stage.key);
  await page.locator('#many', { hasText: 'This key may not do that.' }).waitFor();
  await page.locator('#many summary', { hasText: 'For developers' }).waitFor();
  assert.equal(await page.locator('#many [role=timer]').count(), 0);
  const body = JSON.stringify({ code: 'unauthorized', message: 'No.', status: 401 });
  const refusal = { status: 401, contentType: 'application/json', body };
  await page.route('**/v1/pets', (route) => route.fulfill(refusal), { times: 1 });
  await press(page, 'Resume');
  await page.locator('#key-fault', { hasText: 'This key does not open' }).waitFor();
  await signIn(page, stage.key);
  await press(page, 'Resume');
  await page.getByText('Finished. The report has every line.').waitFor();
  assert.equal((await allPets(stage)).length, 1);
});

test('console › a dropped list can be paused, resumed and stopped, and one that is too long is refused', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  /** Returns whether the browser would do with it what it does by itself. */
  const drag = (type: string, dataTransfer: string) =>
    page.evaluate<boolean>(
      `dispatchEvent(new DragEvent('${type}', { dataTransfer: ${dataTransfer}, cancelable: true }))`,
    );
  const drop = async (text: string) => {
    const fill = `all.items.add(new File([${JSON.stringify(text)}], 'animals.csv'))`;
    assert.equal(await drag('drop', `((all) => (${fill}, all))(new DataTransfer())`), false);
  };
  for (const nothing of ['null', 'new DataTransfer()']) {
    assert.equal(await drag('dragover', nothing), true);
    assert.equal(await drag('drop', nothing), true);
  }
  assert.equal(await page.locator('#many').isVisible(), false, 'no file was dropped');
  await drop(csvOf(5_001));
  await page.getByRole('alert').getByText('This list is too long for a page').waitFor();
  await drop(csvOf(5_000));
  await page.getByRole('button', { name: 'Add 5,000 animals' }).waitFor();
  await drop(csvOf(40));
  // The service takes as long as the test wants.
  const gate = { open: 5 };
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    while (gate.open === 0) await setTimeout(20);
    gate.open -= 1;
    return route.continue();
  });
  await press(page, 'Add 40 animals');
  await page.getByText('5 of 40 added', { exact: true }).waitFor();
  await press(page, 'Pause');
  gate.open = 1;
  await page.getByText('Paused. Nothing is added until you resume.').waitFor();
  await page.getByText('6 of 40 added', { exact: true }).waitFor();
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Resume');
  assert.match((await reportOf(page))[7] ?? '', /^8,not sent,,/, 'a report while it is paused');
  await page.locator('#place', { hasText: 'Animals 1–6 of 6' }).waitFor();
  gate.open = 4;
  await press(page, 'Resume');
  await page.getByText('10 of 40 added', { exact: true }).waitFor();
  await press(page, 'Stop here');
  gate.open = 1;
  await page.getByText('Stopped. Not sent: 29. The report has every line.').waitFor();
  const focused = await page.evaluate('document.activeElement.textContent');
  assert.equal(focused, 'Download the report');
  const report = await reportOf(page);
  assert.match(report[11] ?? '', /^12,added,11,/);
  assert.match(report[12] ?? '', /^13,not sent,,/);
  assert.equal((await allPets(stage)).length, 11);
  await press(page, 'Add another list');
  assert.equal(await list(page).inputValue(), '');
  assert.equal(await page.evaluate('document.activeElement.id'), 'many-text');
  assert.equal(await page.locator('#many progress').isVisible(), false);
  await press(page, 'Close');
  assert.equal(await page.locator('#many').isVisible(), false);
});

test('console › during a bulk add the catalogue shows the animals so far, says how many, and is complete at the end', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  await list(page).fill(csvOf(30));
  const gate = { open: 1 };
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    while (gate.open === 0) await setTimeout(20);
    gate.open -= 1;
    return route.continue();
  });
  const held = Promise.withResolvers<void>();
  const begun = performance.now();
  let lists = 0;
  await page.route('**/v1/pets?**', async (route) => {
    lists += 1;
    await held.promise;
    await route.continue().catch(() => undefined);
  });
  await press(page, 'Add 30 animals');
  const catalogue = page.locator('#catalogue');
  await catalogue
    .getByText('1 of 30 added so far. This list is updated every 3 seconds.', { exact: true })
    .waitFor();
  // Before the list is there, it does not say that there are no animals, and its buttons stay usable.
  await page.locator('#place', { hasText: 'Loading …' }).waitFor();
  assert.equal(await page.getByText('No animals yet').count(), 0);
  assert.equal(await catalogue.getAttribute('aria-busy'), 'false');
  held.resolve();
  await page.locator('#place', { hasText: 'Animal 1 of 1' }).waitFor();
  assert.equal(await page.getByText('No animals yet').count(), 0);
  gate.open = 4;
  await catalogue.getByText('5 of 30 added so far.').waitFor();
  assert.ok(lists <= 1 + (performance.now() - begun) / 3_000, `${lists} lists`);
  // The list follows without an action of the user, a few seconds after the refresh before.
  while ((await page.locator('#rows tr').count()) < 5) {
    gate.open = 1;
    await setTimeout(250);
  }
  assert.equal(await catalogue.getAttribute('aria-busy'), 'false');
  gate.open = 30;
  await page.getByText('Finished. The report has every line.').waitFor();
  await page.locator('#place', { hasText: 'Animals 1–20, more follow' }).waitFor();
  assert.equal(await catalogue.getByText('so far').count(), 0);
});
