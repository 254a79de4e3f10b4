import { DOCS } from '../../../src/web/docs/contents.ts';
import { assertHeight, assertLooks, nameOf, resize } from '../looks.ts';
import { stageOfFile, test, visit } from '../stage.ts';

const stageOf = stageOfFile();

for (const { path } of DOCS) {
  test(`${path} is accessible and fits, light and dark, from 360 to 1440 px`, async (t) => {
    const stage = await stageOf();
    const { page } = await visit(t, stage, { path });
    await page.locator('#search').waitFor();
    await assertLooks(page, nameOf(path));
    if (path === '/docs/reference') await assertHeight(t, page);
  });
}

/** What a reader may open on the pages. */
test('every state of /docs is accessible and fits', async (t) => {
  const stage = await stageOf();
  const { page } = await visit(t, stage, { path: '/docs/changelog' });
  await page.getByRole('searchbox', { name: 'Search the docs' }).fill('idempotency');
  await page.locator('#results a').first().waitFor();
  await assertLooks(page, 'docs-search');
  await page.goto(`${stage.site}/docs/nothing`);
  await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
  await assertLooks(page, 'docs-not-found');
  await page.goto(`${stage.site}/docs/reference`);
  // These samples are the longest.
  await page.locator('.samples').last().getByRole('radio', { name: 'Go' }).check();
  await assertHeight(t, page);
  await page.getByRole('button', { name: 'Use a key' }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill('pet_live_short');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByText('This is not an API key').waitFor();
  await assertLooks(page, 'docs-key');
  await page.getByRole('textbox', { name: 'API key' }).fill(stage.key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  const list = page.locator('section', { has: page.locator('#listPets') });
  await list.getByText('Try it').click();
  await list.getByRole('button', { name: 'Send request' }).click();
  await list.getByText('200 OK', { exact: true }).waitFor();
  await assertLooks(page, 'docs-tried');
  await resize(page, 360);
  await page.getByRole('button', { name: 'Contents' }).click();
  await assertLooks(page, 'docs-contents', { widths: [360], between: [] });
});
