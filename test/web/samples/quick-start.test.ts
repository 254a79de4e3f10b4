// The quick start of /docs, as its reader goes through it: every command is copied from the page, and run.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { processVariables } from '../../../src/config.ts';
import { signIn, Stage, test, visit } from '../stage.ts';

const execute = promisify(execFile);
const RUN_TIMEOUT_MS = 60_000;

test('the quick start: paste the key, copy the samples, run them, see the animal in the console', async (t) => {
  const stage = await Stage.open(t);
  const { page, context } = await visit(t, stage, { path: '/docs' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const served = await (await fetch(`${stage.site}/docs`)).text();
  assert.ok(!served.includes(stage.key) && served.includes('&lt;API_KEY&gt;'));
  await page.getByRole('button', { name: 'Use a key' }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill(stage.key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByRole('button', { name: 'Copy the key' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const key = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.equal(key, stage.key);

  const sample = await copied(page, 'set-the-key');
  assert.equal(sample.trim(), `export PETSTORE_API_KEY='<API_KEY>'`);
  const setKey = sample.replace('<API_KEY>', key);
  const add = await copied(page, 'add-an-animal');
  const list = await copied(page, 'list-the-animals');
  assert.match(add, /Bearer \$PETSTORE_API_KEY/);
  assert.ok(!`${add}${list}`.includes(stage.key), 'a sample does not contain the key');
  const added = await runInShell(t, `${setKey}\n${add}`);
  assert.equal(added, '{"id":1,"name":"Rex","categoryId":7,"status":"available"}');
  assert.equal(await runInShell(t, `${setKey}\n${list}`), `[${added}]`);
  // A page that was loaded over plain HTTP from another machine has no clipboard.
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`);
  const block = page.locator('#set-the-key ~ .code').first();
  await block.getByRole('button', { name: 'Copy' }).click();
  await block.getByRole('button', { name: 'Selected' }).waitFor();
  assert.equal(await page.evaluate('getSelection().toString().trim()'), sample.trim());

  await page.getByRole('link', { name: 'console', exact: true }).click();
  await page.getByRole('cell', { name: 'Rex', exact: true }).waitFor();
  // The console has the key of the tab already; a new tab asks for it.
  const other = await context.newPage();
  await other.goto(stage.site);
  await signIn(other, stage.key);
  await other.getByRole('cell', { name: 'Rex', exact: true }).waitFor();
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
