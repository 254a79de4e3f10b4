import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { DOCS } from '../../../src/web/docs/contents.ts';
import { resize } from '../looks.ts';
import { Stage, stageOfFile, test, visit } from '../stage.ts';

/** For tests that store nothing. */
const stageOf = stageOfFile();

const focused = (page: Page) => page.evaluate<string>('document.activeElement.id');

test('pages at /docs can be read without scripts, and nothing dead is shown', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs', javaScriptEnabled: false });
  // All have one layout.
  for (const { path, title } of DOCS.slice(0, 3)) {
    await page.goto(stage.site + path);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    for (const control of ['#search', '#key-button', '#key-copy', '.try']) {
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
  await page.getByText('"Try it" sends a real request').waitFor();
  const create = page.locator('section', { has: page.locator('#createPet') });
  await create.getByText('Try it').click();
  const body = '{"name":"Rex","categoryId":9223372036854775807}';
  await create.getByLabel('Body').fill(body);
  await create.getByLabel('Body').press('/');
  assert.equal(await create.getByLabel('Body').inputValue(), `${body}/`);
  await create.getByLabel('Body').press('Backspace');
  await create.getByLabel('Idempotency-Key').fill('try-1');
  await create.getByRole('button', { name: 'Send request' }).click();
  // Without a key, the page asks for one, and then sends.
  assert.equal(await focused(page), 'key');
  await page.getByRole('textbox', { name: 'API key' }).fill(stage.key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await create.getByText('201 Created', { exact: true }).waitFor();
  assert.deepEqual(
    await create.locator('.tried pre').evaluateAll((all) => all.map((each) => each.ariaLabel)),
    ['Response body', 'Response headers'],
  );
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
  await list.locator('.outcome.bad', { hasText: '400 Bad Request' }).waitFor();
  // A request is sent when the one before has its response.
  const held = Promise.withResolvers<void>();
  let sent = 0;
  await page.route('**/v1/pets?**', async (route) => {
    sent += 1;
    await held.promise;
    await route.continue();
  });
  await list.getByLabel('limit').press('Enter');
  await list.locator('button[aria-disabled=true]').waitFor();
  await list.getByLabel('limit').press('Enter');
  held.resolve();
  await list.locator('button[aria-disabled=false]').waitFor();
  assert.equal(sent, 1);

  // The request that waited for the first key is not sent again with another one.
  const methods: string[] = [];
  page.on('request', (request) => methods.push(request.method()));
  await page.getByRole('button', { name: /^Key …/ }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill(stage.key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.locator('#key-panel').waitFor({ state: 'hidden' });

  const get = page.locator('section', { has: page.locator('#getPet') });
  await get.getByText('Try it').click();
  await get.getByRole('button', { name: 'Send request' }).click();
  await get.locator('.outcome.good', { hasText: '200 OK' }).waitFor();
  await get.getByText('sunset: Thu, 05 Dec 2030 00:00:00 GMT').last().waitFor();
  const headers = await get.getByRole('group', { name: 'Response headers' }).textContent();
  const [, etag = ''] = /^etag: (.*)$/m.exec(headers ?? '') ?? [];
  await get.getByLabel('If-None-Match').fill(etag);
  await get.getByRole('button', { name: 'Send request' }).click();
  await get.locator('.outcome.good', { hasText: '304 Not Modified' }).waitFor();
  assert.ok(!methods.includes('POST'));
  assert.equal(await get.getByRole('group', { name: 'Response body' }).count(), 0);
  await page.route('**/v1/pets/1', (route) => route.abort('connectionrefused'));
  await get.getByRole('button', { name: 'Send request' }).click();
  await get.locator('.notice', { hasText: 'There was no response' }).waitFor();
});

test('the samples show the address in the bar of the browser', async (t) => {
  const stage = await stageOf();
  const site = stage.site.replace('127.0.0.1', 'localhost');
  const { page } = await visit(t, stage, { site, path: '/docs' });
  for (const path of ['/docs', '/docs/pagination', '/docs/reference', '/docs/clients']) {
    await page.goto(site + path);
    await page.getByRole('button', { name: 'Copy' }).first().waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    assert.ok(text.includes(site), path);
    assert.ok(!text.includes('127.0.0.1'), path);
  }
});

test('the key panel refuses what is not a key, and forgets a key', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs' });
  const input = page.getByRole('textbox', { name: 'API key' });
  await page.getByRole('button', { name: 'Use a key' }).click();
  for (const wrong of ['pet_live_short', `${stage.key}0`, `0${stage.key}`]) {
    await input.fill(wrong);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('This is not an API key').waitFor();
    assert.equal(await focused(page), 'key', wrong);
    assert.equal(await input.getAttribute('aria-invalid'), 'true');
  }
  assert.equal(await page.getByRole('button', { name: 'Forget it' }).isVisible(), false);
  await input.fill(` ${stage.key} `);
  await page.getByRole('button', { name: 'Use this key' }).click();
  const used = page.getByRole('button', { name: `Key …${stage.key.slice(-4)}`, exact: true });
  await used.click();
  assert.equal(await input.inputValue(), '');
  assert.equal(await input.getAttribute('aria-invalid'), null);
  assert.equal(await page.locator('#key-fault').textContent(), '');
  await page.reload();
  await page.getByRole('button', { name: 'Copy the key' }).waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes(stage.key), 'no sample has the key');
  await used.click();
  await page.getByRole('button', { name: 'Forget it' }).click();
  await page.getByRole('button', { name: 'Use a key' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Copy the key' }).isVisible(), false);
  assert.equal(await input.isVisible(), false);
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('the search finds a code, a header and a page, with the keyboard alone', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  const input = page.getByRole('searchbox', { name: 'Search the docs' });
  await input.fill('idempotency');
  await page.locator('#results a').first().waitFor();
  const last = await page.locator('#results .heading').last().textContent();
  const focusedHeading = `document.activeElement.querySelector('.heading').textContent`;
  await input.press('ArrowUp');
  assert.equal(await page.evaluate(focusedHeading), last);
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(page), 'query');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(focusedHeading), 'Retries and idempotency');
  await page.keyboard.press('Escape');
  await page.locator('#results').waitFor({ state: 'hidden' });
  assert.equal(await focused(page), 'query');
  await input.fill('cursor of zebras');
  await page.getByText('Nothing found').waitFor();
  await input.press('Enter');
  await input.fill('rate_lim');
  await page.locator('#results .heading', { hasText: /^rate_limited/ }).waitFor();
  await input.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/errors#rate_limited');
  await input.fill('preference-applied');
  await page.locator('#results .heading', { hasText: 'Every request' }).waitFor();
  await input.press('Enter');
  await page.waitForURL('**/docs/reference#every-request');
  await input.fill('openapi document');
  await page.locator('#results .heading', { hasText: 'OpenAPI document' }).waitFor();
  await input.press('Enter');
  await page.waitForURL('**/docs/reference#openapi-document');
  assert.equal(await page.locator('#results').isVisible(), false);
});

test('the search shows at most eight results: whole words of titles first, then beginnings and parts of titles', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  const input = page.getByRole('searchbox', { name: 'Search the docs' });
  const list = page.locator('#results');
  const searches: [query: string, ...results: string[]][] = [
    ['idempotency', 'Retries and idempotency', 'idempotency_key_reusedErrors'],
    ['err', 'Errors', '404 to 431: other errors of the requestErrors'],
    ['retry', 'Which errors to retryRetries and idempotency'],
    ['curs', 'CursorsLists and pagination', 'invalid_cursorErrors'],
    ['changelog 1.0.0', '1.0.0Changelog'],
    [' keys  secret ', 'Keep keys secretAuthentication'],
    ['KEY', '1. Get an API keyQuick start', '2. Set the keyQuick start'],
  ];
  for (const [query, ...results] of searches) {
    await input.fill(query);
    for (const [index, result] of results.entries()) {
      const text = new RegExp(`^${result.replaceAll('.', String.raw`\.`)}$`);
      await list.locator('.heading').nth(index).filter({ hasText: text }).waitFor();
    }
  }
  const titles = await list.locator('.heading').allTextContents();
  // It begins with the word, and eight others have the word itself.
  assert.ok(!titles.includes('KeysKeys and other computers'));
  assert.equal(titles.length, 8);
  assert.equal(await page.locator('#found').textContent(), '8 results');
  // Each result has a part of its text around the match; what looks like markup is text.
  const excerpt = list.locator('.excerpt').first();
  for (const [query, text, ...marks] of [
    [
      'Durably KEY',
      /^… ?after the animal is durably stored\. To retry safely, send an Idempotency-Key\./,
      'durably',
      'Key',
    ],
    ['<api_', /^Nothing found$/],
    ['pet_not', /^No animal has this id\.$/],
    ['quick', /^Pet Store keeps the catalogue of animals/],
  ] as const) {
    await input.fill(query);
    if (text.source.includes('Nothing')) await list.getByText(text).waitFor();
    else await excerpt.filter({ hasText: text }).waitFor();
    assert.deepEqual(await excerpt.locator('mark').allTextContents(), marks, query);
  }
  await input.blur();
  await list.waitFor({ state: 'hidden' });
  await input.focus();
  await list.waitFor();
  await input.fill(' ');
  await list.waitFor({ state: 'hidden' });
  assert.equal(await page.locator('#found').textContent(), '');
  assert.equal(await list.locator('li').count(), 0);
});

test('the search leads those who want to change or delete an animal, or a webhook, to what they can do instead', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs' });
  const input = page.getByRole('searchbox', { name: 'Search the docs' });
  const first = page.locator('#results li').first();
  const change = 'Change or remove an animal';
  for (const [word, title] of [
    ['update', change],
    ['change', change],
    ['delete', change],
    ['remove', change],
    ['sold', 'Mark an animal as sold'],
    ['webhook', 'Webhooks and events'],
    ['postman', 'Postman, Bruno and Insomnia'],
  ] as const) {
    await input.fill(word);
    await first.filter({ hasText: title }).waitFor();
  }
  await input.press('Enter');
  await page.waitForURL('**/docs/not-in-the-api#postman-bruno-and-insomnia');
});

test('/ and Ctrl-K focus the search, which finds words of samples and guides, whole words first', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  const input = page.getByRole('searchbox', { name: 'Search the docs' });
  const first = page.locator('#results a').first();
  for (const key of ['a', 'k', 'Control+/', 'Alt+/', 'Meta+/']) {
    await page.keyboard.press(key);
    assert.equal(await focused(page), '', key);
  }
  const hint = page.locator('#search kbd', { hasText: '/' });
  for (const key of ['/', 'Control+k', 'Meta+k']) {
    assert.equal(await hint.isVisible(), true);
    await page.keyboard.press(key);
    assert.equal(await focused(page), 'query', key);
    assert.equal(await input.inputValue(), '');
    assert.equal(await hint.isVisible(), false);
    await input.blur();
  }
  await input.press('/');
  await input.press('k');
  assert.equal(await input.inputValue(), '/k');
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
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/' });
  assert.equal(new URL(page.url()).pathname, '/docs');
  for (const path of ['/nothing', '/docs/nothing']) {
    const response = await page.goto(stage.site + path);
    assert.equal(response?.status(), 404);
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
  }
  await page.locator('main').getByRole('link', { name: 'read the docs' }).click();
  await page.getByRole('heading', { level: 1, name: 'Quick start' }).waitFor();
});

test('the chosen language stays, on all samples and on the next page', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/reference' });
  const go = page.locator('.samples').last().getByRole('radio', { name: 'Go' });
  await go.scrollIntoViewIfNeeded();
  const before = await go.boundingBox();
  await go.check();
  // The samples above have become longer.
  const after = await go.boundingBox();
  assert.ok(Math.abs((after?.y ?? 0) - (before?.y ?? 0)) < 2, `${before?.y} and ${after?.y}`);
  await page.getByRole('radio', { name: '404' }).check();
  assert.equal(await page.evaluate(`localStorage.getItem('petstore.language')`), 'go');
  assert.equal(await page.locator('.samples :checked[value=go]').count(), 3);
  await page.getByRole('link', { name: 'Strict handling' }).last().click();
  await page.goto(`${stage.site}/docs/pagination`);
  await page.getByText('func printPage').waitFor();
});

test('the contents open and close on a phone', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, {
    path: '/docs/reference',
    viewport: { width: 360, height: 740 },
  });
  const contents = page.getByRole('navigation', { name: 'Contents' });
  assert.equal(await contents.isVisible(), false);
  await page.getByRole('button', { name: 'Contents' }).click();
  await contents.getByText('Guides', { exact: true }).click();
  assert.equal(await contents.isVisible(), true);
  await contents.getByRole('link', { name: 'Add an animal' }).click();
  await contents.waitFor({ state: 'hidden' });
  assert.match(page.url(), /#createPet$/);
});

test('a printed page has its text and samples, and no controls', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/reference' });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('header.bar').isVisible(), false);
  assert.equal(await page.getByRole('button', { name: 'Copy' }).first().isVisible(), false);
  await page.getByText('Returns a page of animals').waitFor();
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 10_000);
});
