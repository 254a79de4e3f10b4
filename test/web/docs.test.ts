import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { processVariables } from '../../src/config.ts';
import { DOCS } from '../../src/web/docs/contents.ts';
import { assertHeight, assertLooks, nameOf, resize, WIDTHS } from '../support/looks.ts';
import { assertAccessible, signIn, Stage, test, visit } from '../support/stage.ts';

const execute = promisify(execFile);
const RUN_TIMEOUT_MS = 60_000;
const PHONE = [360];

async function useKey(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Use a key' }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill(key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.locator('#key-panel').waitFor({ state: 'hidden' });
}

test('the first pages at /docs and the reference are accessible and fit, each at one width; test/accessibility has all', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs' });
  const paths = new Set([...DOCS.slice(0, 2).map(({ path }) => path), '/docs/reference']);
  for (const [index, path] of [...paths].entries()) {
    await page.goto(`${stage.site}${path}`);
    await page.locator('#search').waitFor();
    const widths = WIDTHS.slice(index % 3, (index % 3) + 1);
    await assertLooks(page, nameOf(path), { widths, hasPictures: false });
  }
});

test('every page at /docs can be read without scripts, and nothing dead is shown', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs', javaScriptEnabled: false });
  for (const { path, title } of DOCS) {
    await page.goto(stage.site + path);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    for (const control of ['#search', '#key-button', '.try']) {
      for (const each of await page.locator(control).all()) {
        assert.equal(await each.isVisible(), false, `${path}: ${control}`);
      }
    }
  }
  await page.goto(`${stage.site}/docs/reference`);
  // The tabs and the contents work without scripts too.
  const samples = page.locator('.samples').first();
  await samples.getByRole('radio', { name: 'Python' }).check();
  await samples.getByText('import requests').waitFor();
  await resize(page, 360);
  await page.getByRole('button', { name: 'Contents' }).click();
  await page.getByRole('navigation', { name: 'Contents' }).getByText('Pagination').click();
  await page.getByRole('heading', { level: 1, name: 'Pagination' }).waitFor();
});

test('"Try it" sends the request with the key of the tab and shows the exact response', async (t) => {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { path: '/docs/reference' });
  const create = page.locator('section', { has: page.locator('#createPet') });
  await create.getByText('Try it').click();
  const body = '{"name":"Rex","categoryId":9223372036854775807}';
  await create.getByLabel('Body').fill(body);
  await create.getByLabel('Idempotency-Key').fill('try-1');
  await create.getByRole('button', { name: 'Send request' }).click();
  // Without a key, the page asks for one, and then sends.
  await page.getByRole('textbox', { name: 'API key' }).fill(stage.key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await create.getByText('201 Created', { exact: true }).waitFor();
  const shown = create.getByRole('group', { name: 'Response body' });
  assert.equal(
    await shown.textContent(),
    '{"id":1,"name":"Rex","categoryId":9223372036854775807,"status":"available"}',
  );
  await create.getByRole('button', { name: 'Send request' }).click();
  await create.getByText('idempotency-replayed: true').waitFor();

  const list = page.locator('section', { has: page.locator('#listPets') });
  await list.getByText('Try it').click();
  await list.getByLabel('status').selectOption('sold');
  await list.getByLabel('limit').fill('5');
  await list.getByRole('button', { name: 'Send request' }).click();
  await list.getByText('200 OK', { exact: true }).waitFor();
  assert.equal(await list.getByRole('group', { name: 'Response body' }).textContent(), '[]');
  await list.getByLabel('limit').fill('0');
  await list.getByRole('button', { name: 'Send request' }).click();
  await list.getByText('400 Bad Request', { exact: true }).waitFor();

  const get = page.locator('section', { has: page.locator('#getPet') });
  await get.getByText('Try it').click();
  await get.getByRole('button', { name: 'Send request' }).click();
  await get.getByText('sunset: Thu, 05 Dec 2030 00:00:00 GMT').last().waitFor();
  await assertLooks(page, 'docs-reference-tried', { widths: PHONE });
});

test('the key panel refuses what is not a key, and forgets a key', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  await page.getByRole('button', { name: 'Use a key' }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill('pet_live_short');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByText('This is not an API key').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Forget it' }).isVisible(), false);
  await assertLooks(page, 'docs-key', { widths: PHONE, hasPictures: false });
  await page.getByRole('textbox', { name: 'API key' }).fill(stage.key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByRole('button', { name: 'Key …' }).click();
  await page.getByRole('button', { name: 'Forget it' }).click();
  await page.getByRole('button', { name: 'Use a key' }).waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('the search finds a code, a header and a page, with the keyboard alone', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  const input = page.getByRole('searchbox', { name: 'Search the docs' });
  await input.fill('idempotency');
  await page.locator('#results a').first().waitFor();
  await assertLooks(page, 'docs-search', { widths: PHONE, hasPictures: false });
  await input.fill('cursor of zebras');
  await page.getByText('Nothing found').waitFor();
  await input.fill('rate_lim');
  await page.locator('#results').getByText('rate_limited').waitFor();
  await input.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/errors#rate_limited');
  await input.fill('preference-applied');
  await page.locator('#results').getByText('Every request').waitFor();
  await input.press('Enter');
  await page.waitForURL('**/docs/reference#every-request');
});

test('/ and Ctrl-K focus the search, which finds words of samples and guides, whole words first', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  const input = page.getByRole('searchbox', { name: 'Search the docs' });
  const first = page.locator('#results a').first();
  for (const key of ['/', 'Control+k']) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate('document.activeElement.id'), 'query', key);
    assert.equal(await input.inputValue(), '');
    await input.blur();
  }
  await input.fill('rate');
  await first.waitFor();
  assert.match((await first.textContent()) ?? '', /^Rate limits/);
  for (const word of ['python', 'bigint']) {
    await input.fill(word);
    await page.getByText(`results`).first().waitFor({ state: 'attached' });
    assert.equal(await page.getByText('Nothing found').count(), 0, word);
    await first.waitFor();
  }
});

test('a page that does not exist is HTML with the way back, and /docs/ is /docs', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs/' });
  assert.equal(new URL(page.url()).pathname, '/docs');
  for (const path of ['/nothing', '/docs/nothing']) {
    const response = await page.goto(stage.site + path);
    assert.equal(response?.status(), 404);
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
    await assertLooks(page, `not-found${path.replaceAll('/', '-')}`, { widths: PHONE });
  }
  await page.locator('main').getByRole('link', { name: 'documentation' }).click();
  await page.getByRole('heading', { level: 1, name: 'Quick start' }).waitFor();
});

test('the chosen language stays, on all samples and on the next page', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs/reference' });
  await page.locator('.samples').last().getByRole('radio', { name: 'Go' }).check();
  assert.equal(await page.locator('.samples :checked[value=go]').count(), 3);
  // With the longest samples.
  await assertHeight(t, page);
  await assertAccessible(page);
  await page.getByRole('link', { name: 'Rate limits' }).last().click();
  await page.goto(`${stage.site}/docs/pagination`);
  await page.getByText('func printPage').waitFor();
});

test('the contents open and close on a phone', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, {
    path: '/docs/reference',
    viewport: { width: 360, height: 740 },
  });
  const contents = page.getByRole('navigation', { name: 'Contents' });
  assert.equal(await contents.isVisible(), false);
  await page.getByRole('button', { name: 'Contents' }).click();
  await assertAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await assertAccessible(page, ['color-contrast']);
  await contents.getByRole('link', { name: 'Add an animal' }).click();
  await contents.waitFor({ state: 'hidden' });
  assert.match(page.url(), /#createPet$/);
});

test('a printed page has its text and samples, and no controls', async (t) => {
  const stage = await Stage.shared();
  const { page } = await visit(t, stage, { path: '/docs/reference' });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('header.bar').isVisible(), false);
  assert.equal(await page.getByRole('button', { name: 'Copy' }).first().isVisible(), false);
  await page.getByText('Returns a page of animals').waitFor();
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 10_000);
});

test('the quick start: paste the key, copy the samples, run them, see the animal in the console', async (t) => {
  const stage = await Stage.open(t);
  const { page, context } = await visit(t, stage, { path: '/docs' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const served = await (await fetch(`${stage.site}/docs`)).text();
  assert.ok(!served.includes(stage.key) && served.includes('&lt;API_KEY&gt;'));
  await useKey(page, stage.key);
  await page.getByText(`export PETSTORE_API_KEY='${stage.key}'`).waitFor();

  const setKey = await copied(page, 'set-the-key');
  const add = await copied(page, 'add-an-animal');
  const list = await copied(page, 'list-the-animals');
  assert.ok(!add.includes(stage.key), 'a sample does not contain the key');
  const added = await runInShell(t, `${setKey}\n${add}`);
  assert.equal(added, '{"id":1,"name":"Rex","categoryId":7,"status":"available"}');
  assert.equal(await runInShell(t, `${setKey}\n${list}`), `[${added}]`);

  await page.getByRole('link', { name: 'console', exact: true }).click();
  await page.getByRole('cell', { name: 'Rex' }).waitFor();
  // The console has the key of the tab already; a new tab asks for it.
  const other = await context.newPage();
  await other.goto(stage.site);
  await signIn(other, stage.key);
  await other.getByRole('cell', { name: 'Rex' }).waitFor();
});

/** Copies the first visible block below a heading with its button. */
async function copied(page: Page, id: string): Promise<string> {
  const block = page
    .locator(`#${id} ~ .code[data-copy], #${id} ~ .samples .code[data-copy]`)
    .filter({ visible: true })
    .first();
  await block.getByRole('button', { name: 'Copy' }).click();
  await block.getByRole('button', { name: 'Copied' }).waitFor();
  return page.evaluate('navigator.clipboard.readText()');
}

async function runInShell(t: TestContext, script: string): Promise<string> {
  const { stdout } = await execute('bash', ['-euc', script], {
    env: { ...processVariables, PETSTORE_API_KEY: '' },
    timeout: RUN_TIMEOUT_MS,
    signal: t.signal,
  });
  return stdout;
}
