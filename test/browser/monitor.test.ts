// The page on the admin port in a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openServer } from '../../src/http/server.ts';
import { respondWithPage } from '../../src/http/router.ts';
import { openMonitor } from '../../src/web/monitor/monitor.ts';
import { send } from '../test-service.ts';
import { Stage, until, visit } from './stage.ts';
import { checkView, VIEWS } from './states.ts';

const numberBeside = (page: Page, chart: string, line: string) =>
  page
    .locator('.chart', { has: page.getByRole('heading', { name: chart }) })
    .getByRole('row', { name: line })
    .getByRole('cell')
    .last()
    .textContent();

test('the admin port has the monitor at /, under a strict policy', async (t) => {
  const stage = await Stage.open(t, { flags: ['--admin-port', '0', '--env', 'staging'] });
  const { page } = await visit(t, stage, { site: stage.admin });
  await page.getByRole('heading', { name: 'Last five minutes' }).waitFor();
  assert.equal(await page.title(), 'Staging · Monitor · Pet Store');
  await page.getByText('Log of SQLite').waitFor();
  const { headers, text } = await send(`${stage.admin}/`);
  assert.match(
    String(headers['content-security-policy']),
    /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/,
  );
  assert.equal(headers['cache-control'], 'no-store');
  assert.doesNotMatch(text, /https?:\/\//, 'the page needs nothing of another address');
});

test('the monitor shows new figures by itself until it is paused, and is accessible', async (t) => {
  const stage = await Stage.open(t);
  const clock = { now: () => new Date(), elapsedMs: () => performance.now() };
  const { figures } = stage;
  // As the admin port does, but with a sample every second.
  const monitor = openMonitor({ environment: 'production', figures, clock, intervalMs: 1_000 });
  const pages = new Map(monitor.pages);
  const server = await openServer({
    createHandler: () => ({
      handle: async (request) => respondWithPage(pages, request, request.target),
    }),
    host: '127.0.0.1',
    port: 0,
    newRequestId: () => 'test',
  });
  monitor.start();
  const stop = async () => {
    monitor.close();
    await server.close(100);
  };
  t.after(stop);
  const { page } = await visit(t, stage, { site: `http://127.0.0.1:${server.port}` });

  for (let index = 0; index < 5; index += 1) {
    await stage.client().pets.create({ name: 'Rex', categoryId: 1n });
  }
  await send(`${stage.site}/v1/pets`, { headers: { authorization: 'Bearer wrong' } });
  await page.getByText('invalid_api_key').waitFor();
  await until(page, `document.querySelectorAll('.lines rect').length >= 6 * 2`);
  assert.notEqual(await numberBeside(page, 'Requests', 'Creates'), '0');
  assert.match((await numberBeside(page, 'Commits', 'p99')) ?? '', /^[\d.,]+ m?s$/);

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused.').waitFor();
  // A wide one in light colours and a narrow one in dark colours.
  for (const view of [VIEWS[0], VIEWS[3]]) if (view !== undefined) await checkView(page, view);
  await page.getByRole('button', { name: 'Resume' }).click();
  await stop();
  await page.getByText('The service does not respond.').waitFor();
});
