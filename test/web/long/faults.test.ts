import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { signIn, Stage, test, until, visit } from '../stage.ts';

const PETS = Array.from({ length: 3 }, (_, index) => ({ name: `Animal ${index}`, categoryId: 1 }));
const place = (page: Page, text: string) => page.locator('#place', { hasText: text }).waitFor();

async function addRex(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Rex');
  await page.getByLabel('Category', { exact: true }).fill('9223372036854775807');
  await page.getByRole('button', { name: 'Add animal' }).click();
}

async function assertRexIsStillTyped(page: Page): Promise<void> {
  assert.equal(await page.getByLabel('Name').inputValue(), 'Rex');
  assert.equal(
    await page.getByLabel('Category', { exact: true }).inputValue(),
    '9223372036854775807',
  );
}

test('console › a service that cannot be reached is reported, and the form keeps its values until it is back', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–3 of 3');
  await stage.stop();
  await addRex(page);
  await page.locator('#add-outcome', { hasText: 'The service cannot be reached' }).waitFor();
  await page.locator('#filter label', { hasText: 'Available' }).click();
  await page.locator('#list-message', { hasText: 'The service cannot be reached' }).waitFor();
  assert.equal(await page.locator('#rows tr').count(), 3);
  await place(page, 'Still showing the earlier rows');
  await assertRexIsStillTyped(page);

  await stage.start();
  await page.locator('#list-message button', { hasText: 'Try again' }).click();
  await place(page, 'Animals 1–3 of 3');
  await assertRexIsStillTyped(page);
  await page.locator('#add-outcome button', { hasText: 'Try again' }).click();
  await page.getByText('Rex was added with the id 4.').waitFor();
  await place(page, 'All 4 animals');
});

test('console › 401: a key that is no longer valid is asked for again, and the form keeps its values', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage);
  await page.getByLabel('Keep on this computer').check();
  await signIn(page, stage.key);
  await place(page, 'Animals 1–3 of 3');
  await stage.stop();
  stage.changeStore();
  await stage.start();
  await addRex(page);
  await page.getByText('This key does not open the catalogue.').waitFor();
  await page.locator('#key-fault summary', { hasText: 'For developers' }).click();
  await page.getByText('The API key is unknown or was revoked.').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length + localStorage.length'), 0);
  assert.equal(await page.locator('#kept').isVisible(), true);
  assert.equal(await page.locator('#workspace').isVisible(), false);
  assert.equal(await page.getByRole('button', { name: 'Forget key' }).isVisible(), false);
  await signIn(page, stage.key);
  await place(page, 'No animals');
  await assertRexIsStillTyped(page);
  await page.getByRole('button', { name: 'Add animal' }).click();
  await page.getByText('Rex was added with the id 1.').waitFor();
});

test('console › a key sees only what it may use, from the start, and another key brings the rest', async (t) => {
  const stage = await Stage.open(t, { flags: ['--env', 'staging'], pets: PETS });
  const { page } = await visit(t, stage);
  const refused: string[] = [];
  page.on('response', (response) => {
    if (response.status() === 403) refused.push(response.url());
  });
  const note = page.locator('#access-note');
  await signIn(page, await stage.newKey('pets:read'));
  await place(page, 'Animals 1–3 of 3');
  assert.match((await note.textContent()) ?? '', /^This key only reads the catalogue\./);
  assert.equal(await page.locator('.side .card.writes, .jump').first().isVisible(), false);
  await page.reload();
  await note.getByText('only reads').waitFor();
  await note.getByRole('button', { name: 'Use another key' }).click();
  assert.equal(await page.locator('#key-fault').textContent(), '');

  await signIn(page, await stage.newKey('pets:write'));
  await note.getByText('This key only adds animals, so the catalogue is not shown.').waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'name');
  assert.equal(await page.locator('#catalogue').isVisible(), false);
  await page.locator('#add-title[aria-level="1"]').waitFor();
  await addRex(page);
  await page.getByText('Rex was added with the id 4.').waitFor();
  await page.reload();
  await until(page, `document.activeElement.id === 'name'`);
  await note.getByRole('button', { name: 'Use another key' }).click();

  // A key of before the scope for changes.
  await signIn(page, await stage.newKey('pets:read,pets:write'));
  await place(page, 'Animals 1–4 of 4');
  const command = (await note.locator('code').textContent()) ?? '';
  assert.match((await note.textContent()) ?? '', /^This key cannot change or remove animals/);
  await note.getByRole('button', { name: 'Use another key' }).click();
  const [program, ...args] = command.replace('NAME', 'counter').split(' ');
  assert.equal(program, 'petstore');
  await signIn(page, await stage.run([...args, ...stage.place.slice(0, 2)]));
  await place(page, 'Animals 1–4 of 4');
  assert.equal(await note.textContent(), '');
  assert.deepEqual(refused, []);
});

test('console › 429: the seconds to wait are counted down, and the form keeps its values', async (t) => {
  const stage = await Stage.open(t, { flags: ['--rate-limit', '2/60s'] });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'No animals');
  await addRex(page);
  const countdown = page.getByRole('timer');
  const first = await countdown.textContent();
  assert.match(first ?? '', /^Trying again in ([2-9]|[1-5]\d|60) s\.$/);
  const shown = `document.querySelector('[role=timer]').textContent`;
  await until(page, `${shown} !== ${JSON.stringify(first)}`);
  await assertRexIsStillTyped(page);
});

test('console › 503: the page tries again by itself once, and then offers "Try again"', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–3 of 3');
  // It begins with the name of a field, but says nothing about that.
  const message = 'name lookups are busy.';
  let failing = 3;
  await page.route('**/v1/pets', async (route) => {
    if (route.request().method() !== 'POST' || failing === 0) return route.continue();
    failing -= 1;
    return route.fulfill({
      status: 503,
      headers: { 'Retry-After': '0', 'X-Request-Id': 'busy-1' },
      contentType: 'application/json',
      body: JSON.stringify({ code: 'overloaded', message, status: 503 }),
    });
  });
  // The client library sends three times, and the page once more after its countdown.
  await addRex(page);
  await page.getByText('Rex was added with the id 4.').waitFor();

  failing = Number.POSITIVE_INFINITY;
  await page.getByLabel('Name').fill('Rex');
  await page.getByLabel('Category', { exact: true }).press('Enter');
  await page.locator('#add-outcome:not(:has([role=timer]))', { hasText: 'is busy' }).waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'categoryId');
  await page.locator('#add-outcome summary').click();
  await page.getByText(message).waitFor();
  await page.getByText('busy-1').waitFor();
  await assertRexIsStillTyped(page);
  failing = 0;
  const focused = await page.evaluate(`(() => {
    const again = document.querySelector('#add-outcome button');
    again.focus();
    again.click();
    return document.activeElement.id;
  })()`);
  assert.equal(focused, 'add-submit');
  await page.getByText('Rex was added with the id 5.').waitFor();
});

test('console › a response that is not from the service is reported as a failure and not shown', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–3 of 3');
  await page.route('**/v1/pets**', (route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: '<h1>A proxy</h1>' }),
  );
  await page.locator('#filter label', { hasText: 'Sold' }).click();
  await page.getByText('The service has failed').waitFor();
  assert.equal(await page.getByText('A proxy').count(), 0);
});

test('console › 503: the catalogue tries again by itself once, and the focus is not lost', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Animals 1–3 of 3');
  const focused = () => page.evaluate<string>('document.activeElement.id');
  let status = 503;
  let sent = 0;
  await page.route(/\/v1\/pets[?/]/, async (route) => {
    if (status === 200) return route.continue();
    sent += 1;
    return route.fulfill({
      status,
      headers: { 'Retry-After': '0' },
      contentType: 'application/json',
      body: JSON.stringify({ code: 'overloaded', message: 'Words.', status }),
    });
  });
  const settled = page.locator('#list-message:not(:has([role=timer]))', { hasText: 'is busy' });
  await page.reload();
  await settled.waitFor();
  await place(page, 'Not loaded');
  // The client library sends three times, and the page once more after its countdown.
  assert.equal(sent, 6);
  assert.equal(await focused(), '');
  status = 200;
  await settled.getByRole('button', { name: 'Try again' }).click();
  assert.equal(await focused(), 'title');
  await place(page, 'Animals 1–3 of 3');

  status = 401;
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('This key does not open the catalogue.').waitFor();
});
