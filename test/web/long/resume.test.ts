import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { openMany, signIn, Stage, test, visit } from '../stage.ts';
import { addListTwice, finished, list, names, press, reload } from './resume.ts';

test('D45: a list is stopped by a reload, one line is corrected, all are pasted again: no animal is there twice, and on purpose all are', (t) =>
  addListTwice(t, 120));

test('console › identical lines are as many animals, and "Add these again" can be finished after a reload too', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key, locale: 'en-US' });
  await page.getByText('No animals yet').waitFor();
  const text = 'name,category\nRex,7\nRex,7\nTom,8\nRex,7\n';
  const add = async (words: string) => {
    await list(page).fill(text);
    await press(page, 'Add 4 animals');
    await finished(page, words);
  };
  await openMany(page);
  await add('4 of 4 added');
  await press(page, 'Add another list');
  await add('0 of 4 added, 4 already there');
  // The second of the four is held until the page is loaded again.
  let sent = 0;
  await page.route('**/v1/pets', (route) => {
    if (route.request().method() === 'POST') sent += 1;
    return sent === 2 ? undefined : route.continue();
  });
  await press(page, 'Add these again');
  await page.getByText('1 of 4 added', { exact: true }).waitFor();
  await reload(page);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.locator('#place', { hasText: 'Animals 1–5 of 5' }).waitFor();
  await openMany(page);
  await add('0 of 4 added, 4 already there');
  await press(page, 'Add these again');
  await finished(page, '3 of 4 added, 1 already there');
  assert.deepEqual((await names(stage)).toSorted(), [...Array(6).fill('Rex'), 'Tom', 'Tom']);
});

test('console › that a list was seen holds for one API key and one browser, and only hashes are stored', async (t) => {
  const stage = await Stage.open(t);
  const { page, context } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  const text = 'name,category\nSecretive,7\n';
  await openMany(page);
  await list(page).fill(text);
  await press(page, 'Add 1 animal');
  await finished(page, '1 of 1 added');
  const stored = await page.evaluate<string>('JSON.stringify({ ...localStorage })');
  assert.match(stored, /"petstore\.seen\.[0-9a-f]{8}":"\[\[\d+,\\"[0-9a-f]{8}\\"\]\]"/);
  assert.doesNotMatch(stored, /Secretive|pet_live_/);

  const other = await context.newPage();
  await other.goto(stage.site);
  await signIn(other, await stage.newKey('pets:read,pets:write'));
  await other.locator('#place', { hasText: 'Animal 1 of 1' }).waitFor();
  await openMany(other);
  await list(other).fill(text);
  await other.getByRole('button', { name: 'Add 1 animal' }).waitFor();
  assert.equal(await other.getByText('was added before').count(), 0);
  await press(other, 'Add 1 animal');
  await finished(other, '1 of 1 added');
  assert.deepEqual(await names(stage), ['Secretive', 'Secretive']);

  await press(page, 'Add another list');
  await list(page).fill(text);
  await page.getByText('This list was added before').waitFor();
  // A day later the service has forgotten the key of the line, and the browser too.
  await page.evaluate(`Date.now = () => new Date().getTime() + 24 * 60 * 60 * 1000`);
  await list(page).fill(`${text}\n`);
  await page.getByText('This list was added before').waitFor({ state: 'detached' });
});

test('console › the report has all columns of the list, and the lines that were not added can be copied and pasted again', async (t) => {
  const stage = await Stage.open(t);
  const { page, context } = await visit(t, stage, { key: stage.key });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByText('No animals yet').waitFor();
  await openMany(page);
  const rows = ['Rex;7;=1+1;sold', '"Tom; the\ncat";x;rot;', ' ;8;;', 'Mimi;9;-5;', 'Ada;9;'];
  await list(page).fill(['Tier;Art;Farbe;Status', ...rows].join('\n'));
  await page.route('**/v1/pets', (route) => {
    if (route.request().postData()?.includes('Mimi') !== true) return route.continue();
    const body = JSON.stringify({ code: 'invalid_field', message: 'No cats.', status: 400 });
    return route.fulfill({ status: 400, contentType: 'application/json', body });
  });
  await press(page, 'Add 2 animals');
  await finished(page, '1 of 2 added');
  const download = page.waitForEvent('download');
  await press(page, 'Download the report');
  const report = await readFile(await (await download).path(), 'utf8');
  assert.deepEqual(report.slice(1).split('\r\n'), [
    'line,outcome,id,name,categoryId,status,reason,Farbe',
    '2,added,1,Rex,7,sold,,\t=1+1',
    '3,left out,,"Tom; the\ncat",x,,"The category is a whole number, such as 7.",rot',
    '5,left out,, ,8,,Enter a name.,',
    '6,refused,,Mimi,9,available,No cats.,-5',
    '7,left out,,Ada,9,,"The line has 3 fields: it must have 4, one for each column of the header.",',
    '',
  ]);
  await press(page, 'Copy the lines that were not added');
  await page.getByText('Copied 4 lines.').waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.equal(copied, `${['Tier;Art;Farbe;Status', ...rows.slice(1)].join('\n')}\n`);

  // Without a clipboard, as on a page that was loaded over plain HTTP, the lines are shown.
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error())`);
  await press(page, 'Copy the lines that were not added');
  assert.equal(await page.getByLabel('The lines').inputValue(), copied);

  await press(page, 'Add another list');
  await list(page).fill('[{"name":"Rex, [\\"1\\"]"},\n {"name":"B","categoryId":1}, 7]');
  await press(page, 'Add 1 animal');
  await finished(page, '1 of 1 added');
  await page.evaluate(`delete navigator.clipboard.writeText`);
  await press(page, 'Copy the lines that were not added');
  await page.getByText('Copied 2 lines.').waitFor();
  const items = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.equal(items, '[{"name":"Rex, [\\"1\\"]"},\n7]\n');
});
