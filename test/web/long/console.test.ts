// The first visit, the key, the pages of the list, the form, everything with the keyboard, and what a page says when the
// service does not respond as it should.

import assert from 'node:assert/strict';
import { ConsolePage } from '../console-page.ts';
import { Stage, stageOfFile, test, visit } from '../stage.ts';
import { runStories } from '../story.ts';

const CONSOLE_BYTES_MAX = 92 * 1024;
const LONG = '🦊'.repeat(255);

const stageOf = stageOfFile({ pets: [{ name: 'Rex', categoryId: 7 }] });

runStories(new URL('console.txt', import.meta.url));

test('console › the first visit asks for a key, and the whole console is loaded with it, in less than 92 KiB including headers; the key is in no URL', async (t) => {
  const stage = await stageOf();
  const { page, context } = await visit(t, stage);
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  const network = await context.newCDPSession(page);
  let bytes = 0;
  network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await network.send('Network.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.reload({ waitUntil: 'networkidle' });
  t.diagnostic(`first view: ${bytes} bytes with headers`);
  assert.ok(bytes > 10_000 && bytes < CONSOLE_BYTES_MAX, `${bytes} bytes`);
  const modules = () =>
    page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map((e) => e.name).filter((e) => /\\.(ts|css)$/.test(e)).sort()`,
    );
  const loaded = await modules();
  const console = new ConsolePage(page);
  await console.signIn(stage.key);
  await console.isLoaded();
  await console.press('Add many at once');
  await page.locator('#many:visible').waitFor();
  assert.deepEqual(await modules(), loaded, 'nothing is loaded later');
  await network.detach();
  assert.equal(addresses.join('\n').includes(stage.key.slice(9, 30)), false);
});

test('console › the cells of a long name align at the top', async (t) => {
  const stage = await Stage.open(t, { pets: [{ name: LONG, categoryId: 7 }] });
  const { page } = await visit(t, stage, { key: await stage.newKey('pets:read') });
  await new ConsolePage(page).isLoaded();
  const tops = await page.evaluate<number[]>(`(() => {
    const top = (node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range.getClientRects()[0].top;
    };
    return Array.from(document.querySelectorAll('#rows :is(bdi, .chip, td.id)'), top);
  })()`);
  assert.equal(tops.length, 3);
  assert.ok(Math.max(...tops) - Math.min(...tops) < 6, tops.join(', '));
});
