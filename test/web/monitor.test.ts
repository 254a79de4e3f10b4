// The page on the admin port in a browser.

import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openServer } from '../../src/http/wire/server.ts';
import { respondWithPage } from '../../src/http/pages.ts';
import { openMonitor, type Monitor } from '../../src/web/monitor/monitor.ts';
import { needs } from '../../harness/needs.ts';
import { canMount, mountSmallDisk } from '../../harness/small-disk.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { keepPicture, Stage, test, until, visit } from './stage.ts';
import { assertLooks } from './looks.ts';

const numberBeside = (page: Page, chart: string, line: string) =>
  page
    .locator('.chart', { has: page.getByRole('heading', { name: chart }) })
    .getByRole('row', { name: line })
    .getByRole('cell')
    .last()
    .textContent();

/** Serves the monitor as the admin port does. */
async function openMonitorServer(t: TestContext, monitor: Monitor) {
  const pages = new Map(monitor.pages);
  const server = await openServer({
    createHandler: () => ({
      handle: async (request) => respondWithPage(pages, request, request.target),
    }),
    host: '127.0.0.1',
    port: 0,
    newRequestId: () => 'test',
  });
  const stop = async () => {
    monitor.close();
    await server.close(100);
  };
  t.after(stop);
  return { site: `http://127.0.0.1:${server.port}`, stop };
}

test('the admin port has the monitor at /, under a strict policy', async (t) => {
  const base = ['--base-url', 'http://pets.example/v1'];
  const stage = await Stage.open(t, { flags: ['--admin-port', '0', '--env', 'staging', ...base] });
  const { page } = await visit(t, stage, { site: stage.admin, timezoneId: 'Asia/Kathmandu' });
  await page.getByRole('heading', { name: 'Last five minutes' }).waitFor();
  await page.getByText(/As of \d\d:\d\d:\d\d UTC \(\d\d:\d\d:\d\d local time\), sampled/).waitFor();
  const toConsole = page.getByRole('link', { name: 'Console' });
  assert.equal(await toConsole.getAttribute('href'), 'http://pets.example/');
  assert.equal(await page.title(), 'Staging · Monitor · Pet Store');
  await page.getByText('SQLite WAL').waitFor();
  const { headers, text } = await send(`${stage.admin}/`);
  assert.match(
    String(headers['content-security-policy']),
    /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/,
  );
  assert.equal(headers['cache-control'], 'no-store');
  assert.doesNotMatch(
    text,
    /(?:src|link [^>]*href)="https?:/,
    'it needs nothing of another address',
  );
});

test('the monitor begins with a verdict: ready or not, the store, the database, the version, the uptime and the base address', async (t) => {
  const stage = await Stage.open(t);
  const clock = { now: () => new Date(), elapsedMs: () => uptimeMs };
  let [uptimeMs, isReady] = [0, true];
  const monitor = openMonitor({
    environment: 'production',
    isWorker: false,
    storeKind: 'PostgreSQL',
    storeName: 'db-1:5432,db-2:5432/pets',
    baseUrl: 'http://127.0.0.1:8080/v1',
    figures: stage.figures,
    isReady: async () => isReady,
    clock,
  });
  uptimeMs = 93_784_000;
  const { site } = await openMonitorServer(t, monitor);
  const { page } = await visit(t, stage, { site });
  await page.getByRole('heading', { name: 'The service is ready' }).waitFor();
  const facts = page.locator('.verdict dl').last().locator('dd');
  const [store, database, version, uptime, address] = await facts.allTextContents();
  assert.deepEqual([store, database], ['PostgreSQL', 'db-1:5432,db-2:5432/pets']);
  assert.match(version ?? '', /^\d+\.\d+\.\d+, Node\.js \d+/);
  assert.deepEqual([uptime, address], ['1 d 2 h', 'http://127.0.0.1:8080/v1']);
  isReady = false;
  await page.reload();
  await page.getByRole('heading', { name: 'The service is not ready' }).waitFor();
  await page.getByText('Its store does not respond.').waitFor();
  await assertLooks(page, 'monitor-not-ready', { widths: [1440, 360] });
});

test('the monitor shows new figures by itself until it is paused, and is accessible', async (t) => {
  const stage = await Stage.open(t);
  const clock = { now: () => new Date(), elapsedMs: () => performance.now() };
  const { figures } = stage;
  // As the admin port does, but with a sample every second.
  const monitor = openMonitor({
    environment: 'production',
    isWorker: false,
    storeKind: 'SQLite',
    storeName: 'data/production/petstore.sqlite',
    baseUrl: `${stage.site}/v1`,
    figures,
    isReady: async () => true,
    clock,
    intervalMs: 1_000,
  });
  const server = await openMonitorServer(t, monitor);
  monitor.start();
  const { page } = await visit(t, stage, { site: server.site });

  for (let index = 0; index < 5; index += 1) {
    await stage.client().pets.create({ name: 'Rex', categoryId: 1n });
  }
  await send(`${stage.site}/v1/pets`, { headers: { authorization: 'Bearer wrong' } });
  const code = page.getByRole('link', { name: 'invalid_api_key' });
  await code.waitFor();
  const address = (await code.getAttribute('href')) ?? '';
  assert.equal(address, `${stage.site}/docs/errors#invalid_api_key`);
  assert.match((await send(address)).text, / id="invalid_api_key"/);
  await until(page, `document.querySelectorAll('.lines rect').length >= 6 * 2`);
  await page.locator('.figures div', { hasText: /^Animals5$/ }).waitFor();
  assert.notEqual(await numberBeside(page, 'Requests', 'Creates'), '0');
  assert.match((await numberBeside(page, 'Commits', 'p99')) ?? '', /^[\d.,]+ m?s$/);

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused.').waitFor();
  const sampledAt = await page.locator('time').textContent();
  await assertLooks(page, 'monitor', { widths: [1440, 360] });
  assert.equal(await page.locator('time').textContent(), sampledAt);
  assert.equal(await page.locator('#state.lost').count(), 0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(page, `document.querySelector('time').textContent !== '${sampledAt}'`);
  assert.equal(await page.locator('#state').textContent(), '');
  await server.stop();
  await page.locator('#state.lost', { hasText: 'The service does not respond.' }).waitFor();
});

const NEEDS_MOUNT = needs('the right to mount a small disk', canMount());
const DISK_KIBIBYTES = 8 * 1024;
const THREE_DAYS_MS = 3 * 86_400_000;

/** Leaves no room, and returns the file that takes it. */
function fillDisk(disk: string): string {
  const file = join(disk, 'filler');
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeFileSync(file, block, { flag: 'a' });
  } catch {
    return file;
  }
}

test(
  'the monitor and the console say what a person must do: all is well, a full disk, room again, an old backup',
  showStates,
  NEEDS_MOUNT,
);

async function showStates(t: TestContext): Promise<void> {
  const { disk, unmount } = mountSmallDisk(DISK_KIBIBYTES);
  t.after(unmount);
  const stage = await Stage.open(t, { flags: ['--admin-port', '0', '--data', disk] });
  const client = stage.client();
  for (const name of ['Bella', 'Rex', 'Luna']) await client.pets.create({ name, categoryId: 1n });
  const backups = join(temporaryFolder(t), 'backups');
  mkdirSync(backups);
  await stage.run(['backup', backups, '--keep', '3', '--data', disk]);
  const monitor = (await visit(t, stage, { site: stage.admin })).page;
  const console = (await visit(t, stage, { key: stage.key })).page;
  const verdict = monitor.locator('.verdict');
  const heading = (name: string) => verdict.getByRole('heading', { name });
  await heading('The service is ready').waitFor();
  await verdict.getByText('under a minute old').waitFor();

  const filler = fillDisk(disk);
  await console.getByLabel('Name', { exact: true }).fill('Nemo');
  await console.getByLabel('Category', { exact: true }).fill('3');
  await console.getByRole('button', { name: 'Add animal' }).click();
  // The console tries once more by itself.
  const alert = console.getByRole('alert');
  await console.getByRole('timer').waitFor();
  await console.getByRole('timer').waitFor({ state: 'detached' });
  await alert
    .getByText('The store cannot take new animals at the moment', { exact: true })
    .waitFor();
  await assertLooks(console, 'console-full-disk', { widths: [1440, 360] });
  await heading('The store cannot take new animals').waitFor();
  await heading('The disk of the store is nearly full').waitFor();
  await verdict.getByText(/ UTC: The store could not take new animals\.$/).waitFor();
  await assertLooks(monitor, 'monitor-full-disk', { widths: [1440, 360] });
  rmSync(filler);
  await console.getByRole('button', { name: 'Try again' }).click();
  await console.getByText('Nemo was added').waitFor();
  await heading('The service is ready').waitFor();

  using database = new DatabaseSync(join(disk, 'production', 'petstore.sqlite'));
  const old = Date.now() - THREE_DAYS_MS;
  database.prepare('UPDATE store_identity SET last_backup_at = ?').run(old);
  await heading('The newest backup is older than two days').waitFor();
  await keepPicture(monitor, 'monitor-old-backup');
}
