import { DOCS } from '../../../src/web/docs/contents.ts';
import { assertHeight, assertLooks, nameOf } from '../looks.ts';
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
