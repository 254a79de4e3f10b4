import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Pet } from '../../sdk/src/index.ts';
import { CuttableLink } from '../support/cuttable-link.ts';
import { Stage, test, visit } from '../support/stage.ts';

const ROWS = 120;
const STATUSES = ['available', 'pending', 'sold', ''];

const list = (page: Page) => page.getByLabel('Paste CSV, cells of a spreadsheet or JSON');
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click();

async function openMany(page: Page): Promise<void> {
  await page.locator('#add-many').click();
  await list(page).waitFor();
}

function csvOf(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    return `"Animal ${index + 1}, of ${count}",${index + 1},${STATUSES[index % 4]}`;
  });
  return ['name,categoryId,status', ...lines].join('\n');
}

async function allPets(stage: Stage): Promise<Pet[]> {
  const pets: Pet[] = [];
  for await (const pet of stage.client().pets.list({ limit: 100 })) pets.push(pet);
  return pets;
}

async function reportOf(page: Page): Promise<string[]> {
  const download = page.waitForEvent('download');
  await press(page, 'Download the report');
  const file = await (await download).path();
  return (await readFile(file, 'utf8')).trimEnd().split('\r\n');
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
  assert.equal(report[0], 'line,outcome,id,name,reason');
  assert.equal(report[ROWS], `${ROWS + 1},added,${ROWS},"Animal ${ROWS}, of ${ROWS}",`);
  await page.locator('#just-added', { hasText: `and ${ROWS - 5} more` }).waitFor();
});

test('console › a pasted list is read as petstore import reads it, and its faults are listed by line', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  const faults = page.locator('#many .faults li');
  await list(page).fill('name,categoryId\n,7\nRex,x\n"two\nlines",9223372036854775807\nMimi\n');
  await page.locator('#many', { hasText: 'Add 1 animal' }).waitFor();
  assert.deepEqual(await faults.allTextContents(), [
    'Line 2 Enter a name.',
    'Line 3 The category is a whole number, such as 7.',
    'Line 6 The line has 1 fields: it must have 2, one for each column of the header.',
  ]);
  await list(page).fill('colour,weight\nred,3');
  await page.getByText('The first line must name its columns').waitFor();
  await list(page).fill(
    '{"name":"Rex","categoryId":1e2,"id":9}\n{"name":"","status":"lost"}\n[]\nx',
  );
  await page.locator('#many', { hasText: 'Add 1 animal' }).waitFor();
  assert.deepEqual(await faults.allTextContents(), [
    'Line 2 Enter a name. Enter a category, such as 7. The status is available, pending or sold.',
    'Line 3 The line is not one JSON object.',
    'Line 4 The line is not JSON. Write one JSON object per line.',
  ]);
  await press(page, 'Add 1 animal');
  await page.getByText('Finished. Lines left out for a fault: 3.').waitFor();
  assert.deepEqual(await reportOf(page), [
    'line,outcome,id,name,reason',
    '1,added,1,Rex,',
    '2,left out,,,"Enter a name. Enter a category, such as 7. The status is available, pending or sold."',
    '3,left out,,,The line is not one JSON object.',
    '4,left out,,,The line is not JSON. Write one JSON object per line.',
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

test('console › a dropped list can be paused, resumed and stopped, and one that is too long is refused', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  const drop = (text: string) =>
    page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([${JSON.stringify(text)}], 'animals.csv'));
      dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
    })()`);
  await drop(csvOf(5_001));
  await page.getByText('This list is too long for a page').waitFor();
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
  assert.match((await reportOf(page))[7] ?? '', /^8,not sent,,/, 'a report while it is paused');
  await page.locator('#place', { hasText: 'Animals 1–6 of 6' }).waitFor();
  gate.open = 4;
  await press(page, 'Resume');
  await page.getByText('10 of 40 added', { exact: true }).waitFor();
  await press(page, 'Stop here');
  gate.open = 1;
  await page.getByText('Stopped. Not sent: 29. The report has every line.').waitFor();
  const report = await reportOf(page);
  assert.match(report[11] ?? '', /^12,added,11,/);
  assert.match(report[12] ?? '', /^13,not sent,,/);
  assert.equal((await allPets(stage)).length, 11);
  await press(page, 'Add another list');
  assert.equal(await list(page).inputValue(), '');
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
  await press(page, 'Add 30 animals');
  const catalogue = page.locator('#catalogue');
  await catalogue.getByText('1 of 30 added so far.').waitFor();
  await page.locator('#place', { hasText: 'Animal 1 of 1' }).waitFor();
  assert.equal(await page.getByText('No animals yet').count(), 0);
  gate.open = 4;
  await catalogue.getByText('5 of 30 added so far.').waitFor();
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
