// What happens to what somebody sees while something else happens.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConsolePage } from './console-page.ts';
import { openMany, Stage, test, visit } from './stage.ts';

/** Longer than the page waits for more of a text. */
const READ_MS = 400;
const BELLA = [{ name: 'Bella', categoryId: 7 }];
/** One service for both tests. */
let opened: Promise<Stage> | undefined;

test('console › a reload in the background that fails leaves the list as it is', async (t) => {
  const stage = await (opened ??= Stage.forFile({ pets: BELLA }));
  const { page } = await visit(t, stage, { key: stage.key });
  const console = new ConsolePage(page);
  await console.row('Bella').waitFor();
  const error = { code: 'unavailable', message: 'The store is away.', status: 503 };
  await page.route('**/v1/pets?*', (route) => route.fulfill({ status: 503, json: error }));
  // With its retries.
  const failed = page.waitForEvent('requestfinished');
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await failed;
  await sleep(READ_MS);
  await page.locator('#catalogue[aria-busy=false]').waitFor();
  assert.deepEqual(await console.names(), ['Bella']);
  assert.equal(await page.locator('#list-message').textContent(), '');
});

test('console › a file that is chosen directly after typing is what is judged', async (t) => {
  const stage = await (opened ??= Stage.forFile({ pets: BELLA }));
  const { page } = await visit(t, stage, { key: stage.key });
  await openMany(page);
  // In one turn, as fast as the page can be.
  await page.evaluate(`(() => {
    const text = document.getElementById('many-text');
    text.value = 'name,categoryId\\nTyped,1';
    text.dispatchEvent(new Event('input'));
    const chosen = new DataTransfer();
    chosen.items.add(new File(['PK\\u0003\\u0004'], 'list.xlsx'));
    const file = document.querySelector('#many input[type=file]');
    file.files = chosen.files;
    file.dispatchEvent(new Event('change'));
  })()`);
  const words = page.getByText('This is an Excel file');
  await words.waitFor();
  await sleep(READ_MS);
  assert.equal(await words.isVisible(), true);
});
