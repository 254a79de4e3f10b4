import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible, keepPicture } from './stage.ts';

export const WIDTHS = [1440, 768, 360];
/** How tall the reference may be, by the width of the screen. */
const REFERENCE_HEIGHTS_MAX: [width: number, heightMax: number][] = [
  [1440, 6_000],
  [360, 12_000],
];

/** The name of a page in the names of its pictures. */
export function nameOf(path: string): string {
  return path === '/docs' ? 'docs' : path.slice(1).replace('/', '-');
}

export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: width === 360 ? 740 : 900 });
}

/** Checks that the page fits and is accessible in both colours. In a width between, it only has to fit. */
export async function assertLooks(
  page: Page,
  name: string,
  { widths = [1440, 360], between = [768] }: { widths?: number[]; between?: number[] } = {},
): Promise<void> {
  for (const width of [...between, ...widths]) {
    await resize(page, width);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    assert.equal(overflow, 0, `${name} is wider than ${width} px`);
    if (!widths.includes(width)) continue;
    await page.emulateMedia({ colorScheme: 'light' });
    await assertAccessible(page);
    await keepPicture(page, `${name}-${width}`);
    // The rest of the page is the same in dark colours.
    await page.emulateMedia({ colorScheme: 'dark' });
    await assertAccessible(page, ['color-contrast']);
    if (width === 1440) await keepPicture(page, `${name}-dark`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await resize(page, 1440);
}

/** The reference is never a wall. */
export async function assertHeight(t: TestContext, page: Page): Promise<void> {
  for (const [width, heightMax] of REFERENCE_HEIGHTS_MAX) {
    await resize(page, width);
    const height = Number(await page.evaluate('document.documentElement.scrollHeight'));
    t.diagnostic(`/docs/reference at ${width} px: ${height} px tall`);
    assert.ok(height < heightMax, `${height} px tall at ${width} px`);
  }
}
