import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, keepPicture, Stage, visit } from './stage.ts';

/** Parts of Swagger UI that this project cannot correct. All others are checked, with the colours it sets. */
const COMPONENT = ['.opblock-summary-control', '#servers'];

test('/docs/deprecations is accessible, wide and narrow, light and dark', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { path: '/docs/deprecations' });
  await page.getByText('5 December 2030').first().waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page);
    await keepPicture(page, `deprecations-${colorScheme}`);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0);
  await assertAccessible(page);
  await page.getByRole('link', { name: 'Console' }).click();
  await page.getByLabel('API key').waitFor();
});

test('/docs shows the three operations, one as deprecated, light and dark', async (t) => {
  const stage = await Stage.open(t);
  // axe sets inline styles, which the policy of the page forbids. The tests below run with the policy.
  const { page } = await visit(t, stage, { path: '/docs', bypassCSP: true });
  await page.getByText('List all animals', { exact: true }).waitFor();
  await page.getByText('Add an animal', { exact: true }).waitFor();
  await page.locator('.opblock-deprecated', { hasText: '/pets/{petId}' }).waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page, COMPONENT);
    await keepPicture(page, `reference-${colorScheme}`);
  }
});

test('/docs: an operation can be tried with a pasted key, and int64 values keep all digits', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { path: '/docs' });
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.locator('.modal-ux input').fill(stage.key);
  await page.locator('.modal-ux button[type=submit]').click();
  await page.locator('.modal-ux .btn-done').click();
  await page.getByText('Add an animal', { exact: true }).click();
  await page.locator('textarea').fill('{"name":"Rex","categoryId":9223372036854775807}');
  await page.getByRole('button', { name: 'Execute' }).click();
  const response = page.locator('.live-responses-table .highlight-code').first();
  await response.getByText('9223372036854775807').waitFor();
  await keepPicture(page, 'reference-tried');
  const [pet] = (await stage.client().pets.list().page()).pets;
  assert.equal(pet?.categoryId, 9223372036854775807n);
  assert.match((await page.locator('.curl-command').textContent()) ?? '', /Bearer <API_KEY>/);
});

test('/docs uses the key that was entered in the console of the same tab', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  await page.getByRole('link', { name: 'Reference' }).click();
  await page.getByText('List all animals', { exact: true }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
});
