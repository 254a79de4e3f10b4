// Takes the pictures of the README from a real service with a believable catalogue: npm run pictures.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { PetStore, type NewPet } from '../sdk/src/index.ts';
import { siteOf } from '../src/http/target.ts';
import { findChromium } from './chromium.ts';
import { sqliteStorage, startTestService } from './test-service.ts';

const FOLDER = new URL('../docs/images/', import.meta.url).pathname;
/** All pictures together, so that a clone stays small. */
const BYTES_MAX = 300 * 1024;
const VIEW = { width: 1200, height: 720 };
const QUALITY_PERCENT = 80;

/** Categories of the store: 1 dogs, 2 cats, 3 birds, 4 rabbits, 5 fish, 6 reptiles. */
const ANIMALS: [name: string, categoryId: number, status: NewPet['status']][] = [
  ['Bella, Golden Retriever', 1, 'available'],
  ['Oscar, Maine Coon', 2, 'available'],
  ['Kiwi, budgerigar', 3, 'available'],
  ['Luna, Siamese', 2, 'pending'],
  ['Max, Border Collie', 1, 'sold'],
  ['Thumper, Netherland Dwarf', 4, 'available'],
  ['Six neon tetras', 5, 'available'],
  ['Coco, cockatiel', 3, 'pending'],
  ['Rocky, leopard gecko', 6, 'available'],
  ['Daisy, Beagle', 1, 'available'],
  ['Simba, British Shorthair', 2, 'sold'],
  ['Hazel, Holland Lop', 4, 'available'],
  ['Nemo, clownfish', 5, 'sold'],
  ['Ziggy, bearded dragon', 6, 'pending'],
  ['Milo, Cocker Spaniel', 1, 'available'],
  ['Pearl, Persian', 2, 'available'],
];

const PAGES: [name: string, path: string, isReady: string][] = [
  ['console', '/?cursor=last', '#rows tr'],
  ['reference', '/docs/reference#listPets', '#listPets'],
];

const service = await startTestService(sqliteStorage, { logLevel: 'silent' });
const site = siteOf(service.baseUrl);
const browser = await chromium.launch(findChromium());
try {
  const { baseUrl, key } = service;
  const { pets } = new PetStore({ baseUrl, apiKey: key });
  for (const [name, categoryId, status] of ANIMALS) await pets.create({ name, categoryId, status });
  mkdirSync(FOLDER, { recursive: true });
  let bytes = 0;
  for (const scheme of ['light', 'dark'] as const) {
    const page = await signedInPage(browser, scheme, key);
    for (const [name, path, isReady] of PAGES) {
      await page.goto(site + path);
      await page.locator(isReady).first().waitFor();
      const file = join(FOLDER, `${name}-${scheme}.webp`);
      writeFileSync(file, await takePicture(page));
      bytes += statSync(file).size;
    }
  }
  process.stdout.write(`${Math.round(bytes / 1024)} KiB in docs/images\n`);
  if (bytes > BYTES_MAX) throw new Error(`The pictures have ${bytes} bytes: at most ${BYTES_MAX}.`);
} finally {
  await browser.close();
  await service.close();
}

async function signedInPage(
  opened: Browser,
  colorScheme: 'light' | 'dark',
  key: string,
): Promise<Page> {
  const page = await opened.newPage({ viewport: VIEW, colorScheme, reducedMotion: 'reduce' });
  await page.goto(`${site}/`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Open the catalogue' }).click();
  await page.locator('#rows tr').first().waitFor();
  return page;
}

/** WebP, which the browser writes by its protocol only: a PNG has three times the size. */
async function takePicture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: QUALITY_PERCENT,
  });
  return Buffer.from(data, 'base64');
}
