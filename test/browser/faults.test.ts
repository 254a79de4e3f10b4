import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible, keepPicture, signIn, Stage, visit } from './stage.ts';

const PETS = Array.from({ length: 3 }, (_, index) => ({ name: `Animal ${index}`, categoryId: 1 }));
const place = (page: Page, text: string) => page.locator('#place', { hasText: text }).waitFor();

async function addRex(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Rex');
  await page.getByLabel('Category id').fill('9223372036854775807');
  await page.getByRole('button', { name: 'Add animal' }).click();
}

async function assertRexIsStillTyped(page: Page): Promise<void> {
  assert.equal(await page.getByLabel('Name').inputValue(), 'Rex');
  assert.equal(await page.getByLabel('Category id').inputValue(), '9223372036854775807');
}

test('console › a service that cannot be reached is reported, and the form keeps its values until it is back', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Page 1');
  await stage.stop();
  await addRex(page);
  await page.locator('#add-outcome', { hasText: 'The service cannot be reached' }).waitFor();
  await page.locator('#filter label', { hasText: 'Available' }).click();
  await page.locator('#list-message', { hasText: 'The service cannot be reached' }).waitFor();
  await assertRexIsStillTyped(page);
  await assertAccessible(page);
  await keepPicture(page, 'service-gone');

  await stage.start();
  await page.locator('#list-message button', { hasText: 'Try again' }).click();
  await place(page, 'Page 1 · 3 animals');
  await assertRexIsStillTyped(page);
  await page.locator('#add-outcome button', { hasText: 'Try again' }).click();
  await page.getByText('Rex was added with the id 4.').waitFor();
  await place(page, 'Page 1 · 4 animals');
});

test('console › 401: a key that is no longer valid is asked for again, and the form keeps its values', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Page 1');
  await stage.stop();
  stage.changeStore();
  await stage.start();
  await addRex(page);
  await page.getByText('The API key is unknown or was revoked.').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  await assertAccessible(page);
  await keepPicture(page, 'key-refused');
  await signIn(page, stage.key);
  await place(page, 'Page 1 · 0 animals');
  await assertRexIsStillTyped(page);
  await page.getByRole('button', { name: 'Add animal' }).click();
  await page.getByText('Rex was added with the id 1.').waitFor();
});

test('console › 403: a create with a read-only key is refused, and another key can be used', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: await stage.newKey('pets:read') });
  await place(page, 'Page 1 · 3 animals');
  await addRex(page);
  await page.getByText('This API key lacks the scope pets:write.').waitFor();
  await assertAccessible(page);
  await keepPicture(page, 'key-may-not');
  await page.getByRole('button', { name: 'Use another key' }).click();
  await signIn(page, stage.key);
  await place(page, 'Page 1');
  await assertRexIsStillTyped(page);
  await page.getByRole('button', { name: 'Add animal' }).click();
  await page.getByText('Rex was added with the id 4.').waitFor();
});

test('console › 403: a write-only key can add animals', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: await stage.newKey('pets:write') });
  await page.locator('#list-message', { hasText: 'lacks the scope pets:read' }).waitFor();
  await addRex(page);
  await page.getByText('Rex was added with the id 1.').waitFor();
});

test('console › 429: the time to wait is shown, and the form keeps its values', async (t) => {
  const stage = await Stage.open(t, { flags: ['--rate-limit', '1/60s'] });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Page 1');
  await addRex(page);
  await page.getByText(/Wait \d+ seconds, then try again\./).waitFor();
  await assertRexIsStillTyped(page);
  await assertAccessible(page);
  await keepPicture(page, 'too-many-requests');
});

test('console › 503: a busy service is reported, and "Try again" repeats the request', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Page 1');
  const message = 'More requests are waiting than the service will hold.';
  await page.route('**/v1/pets**', (route) =>
    route.fulfill({
      status: 503,
      headers: { 'Retry-After': '1', 'X-Request-Id': 'busy-1' },
      contentType: 'application/json',
      body: JSON.stringify({ code: 'overloaded', message, status: 503 }),
    }),
  );
  await addRex(page);
  await page.getByText('The service is busy').waitFor();
  await page.getByText('busy-1').waitFor();
  await assertRexIsStillTyped(page);
  await assertAccessible(page);
  await keepPicture(page, 'busy');
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Rex was added with the id 4.').waitFor();
});

test('console › a response that is not from the service is reported as a failure and not shown', async (t) => {
  const stage = await Stage.open(t, { pets: PETS });
  const { page } = await visit(t, stage, { key: stage.key });
  await place(page, 'Page 1');
  await page.route('**/v1/pets**', (route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: '<h1>A proxy</h1>' }),
  );
  await page.locator('#filter label', { hasText: 'Sold' }).click();
  await page.getByText('The service has failed').waitFor();
  assert.equal(await page.getByText('A proxy').count(), 0);
});
