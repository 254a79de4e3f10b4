// The page on the admin port in a browser.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openServer } from '../../src/http/wire/server.ts';
import { respondWithPage } from '../../src/http/pages.ts';
import { openMonitor, type Monitor } from '../../src/web/monitor/monitor.ts';
import { send } from '../../harness/test-service.ts';
import { Stage, test, until, visit } from './stage.ts';

const SAMPLE_MS = 1_000;

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
});

test('the monitor shows new figures by itself until it is paused', async (t) => {
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
    intervalMs: SAMPLE_MS,
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
  await sleep(SAMPLE_MS + 200);
  assert.equal(await page.locator('time').textContent(), sampledAt);
  assert.equal(await page.locator('#state.lost').count(), 0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(page, `document.querySelector('time').textContent !== '${sampledAt}'`);
  assert.equal(await page.locator('#state').textContent(), '');
  await server.stop();
  await page.locator('#state.lost', { hasText: 'The service does not respond.' }).waitFor();
});
