// The page /docs/web-site, as a reader uses it: its files and commands, taken from what the service sends.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { NEEDS_CHROMIUM } from '../../../harness/chromium.ts';
import { freePort } from '../../../harness/free-port.ts';
import { needsProgram } from '../../../harness/needs.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { until as untilTrue } from '../../../harness/until.ts';
import { processVariables } from '../../../src/config.ts';
import { Stage, until, visit } from '../stage.ts';

const skip = NEEDS_CHROMIUM || needsProgram('python3');
const PETS = Array.from({ length: 45 }, (_, index) => ({
  name: index === 0 ? '<b>Rex</b>' : `Animal ${index}`,
  categoryId: 7,
  status: index === 3 ? ('sold' as const) : ('available' as const),
}));
const FAILED = 'The animals cannot be shown at the moment.';

/** The blocks of the page, in their order: two commands, the page, two commands around the proxy. */
async function blocksOf(site: string): Promise<Record<'sh' | 'html' | 'js', string[]>> {
  const html = await (await fetch(`${site}/docs/web-site`)).text();
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  const blocks = { sh: [] as string[], html: [] as string[], js: [] as string[] };
  for (const [, language = '', code = ''] of html.matchAll(
    /data-language="(\w+)"><pre[^>]*><code>(.*?)<\/code>/gs,
  )) {
    const text = code
      .replaceAll(/<[^>]+>/g, '')
      .replaceAll(/&(\w+);/g, (_, name: string) => characters[name] ?? '');
    blocks[language as keyof typeof blocks].push(text);
  }
  return blocks;
}

const ANY = await freePort();

/** The service, started with the flags of the page: only the port of the origin and the limit are others. */
async function stageFor(t: TestContext, port: number, limit: string): Promise<Stage> {
  const flags = ['--cors-origins', `http://localhost:${port}`, '--rate-limit', limit];
  const stage = await Stage.open(t, { flags, pets: PETS });
  const [serve = '', create = ''] = (await blocksOf(stage.site)).sh;
  assert.equal(
    serve,
    `petstore serve ${flags.join(' ')}`.replace(`${port}`, '8000').replace(limit, '600/60s'),
  );
  stage.key = await stage.run([...create.split(' ').slice(1), ...stage.place]);
  return stage;
}

/** Runs a command of the page in a folder, until the test has ended. */
async function start(t: TestContext, command: string, options: { cwd: string; port: number }) {
  const child = spawn('bash', ['-c', `exec ${command}`], {
    cwd: options.cwd,
    env: { ...processVariables, PORT: String(options.port) },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await untilTrue(`${command} listens`, async () => {
    assert.equal(child.exitCode, null, `${command} has ended`);
    const socket = createConnection(options.port, 'localhost');
    const isListening = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isListening;
  });
}

const animals = (page: Page) => page.locator('#animals li').allTextContents();
const more = (page: Page) => page.getByRole('button');
const says = (page: Page, text: string) =>
  until(page, `document.querySelector('#message').textContent === ${JSON.stringify(text)}`);

test(
  'the page of /docs/web-site lists the available animals from another origin, page by page, and names errors',
  { skip },
  async (t) => {
    const port = await freePort();
    const stage = await stageFor(t, port, '4/60s');
    const { html, sh } = await blocksOf(stage.site);
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'animals.html'), (html[0] ?? '').replace('<API_KEY>', stage.key));
    await start(t, sh[2]?.replace('8000', String(port)) ?? '', { cwd: folder, port });
    // The page is of one origin, and the service of another.
    const site = 'http://';
    const { page, incidents } = await visit(t, stage, {
      site,
      path: `localhost:${port}/animals.html`,
    });

    await says(page, '');
    assert.deepEqual((await animals(page)).slice(0, 4), [
      '<b>Rex</b>',
      'Animal 1',
      'Animal 2',
      'Animal 4',
    ]);
    await more(page).click();
    await until(page, `document.querySelectorAll('#animals li').length === 40`);

    await stage.stop();
    await more(page).click();
    await says(page, FAILED);
    await stage.start();
    await page.getByRole('button', { name: 'Try again' }).click();
    await until(page, `document.querySelectorAll('#animals li').length === 44`);
    assert.equal(await more(page).isVisible(), false, 'there is no further page');
    assert.equal(new Set(await animals(page)).size, 44);

    // Everybody who opens the page uses the limit of its key.
    incidents.length = 0;
    for (let visits = 2; visits <= 4; visits += 1) {
      await page.reload();
      await says(page, '');
    }
    await page.reload();
    await says(page, FAILED);
    assert.match(incidents.splice(0).join('\n'), /This API key has used up its requests/);

    // An origin that the service does not know.
    await page.goto(`http://127.0.0.1:${port}/animals.html`);
    await says(page, FAILED);
    assert.match(incidents.splice(0).join('\n'), /blocked by CORS policy/);
  },
);

test(
  'the proxy of /docs/web-site shows the same page without the key, and visitors share no limit',
  { skip },
  async (t) => {
    const port = await freePort();
    const stage = await stageFor(t, ANY, '8/60s');
    const { html, js, sh } = await blocksOf(stage.site);
    const folder = temporaryFolder(t);
    const [page0 = ''] = html;
    const changed = page0
      .replace(/next = 'http:[^']*'/, `next = '/animals'`)
      .replace(/headers = \{[^}]*\}/, 'headers = {}');
    assert.doesNotMatch(changed, /API_KEY|\/v1/);
    writeFileSync(join(folder, 'animals.html'), changed);
    writeFileSync(join(folder, 'proxy.mjs'), js[0] ?? '');
    const [exported = '', run = ''] = sh[3]?.split('\n') ?? [];
    const command = `env ${exported.replace('export ', '').replace('<API_KEY>', stage.key)} ${run}`;
    await start(t, command, { cwd: folder, port });

    const site = `http://localhost:${port}`;
    const { page, incidents } = await visit(t, stage, { site });
    for (const count of [20, 40, 44]) {
      await until(page, `document.querySelectorAll('#animals li').length === ${count}`);
      if (count < 44) await more(page).click();
    }
    assert.equal(await more(page).isVisible(), false);
    for (let visits = 1; visits <= 20; visits += 1) {
      const responses = await Promise.all(['/', '/animals'].map((path) => fetch(site + path)));
      for (const response of responses) {
        assert.equal(response.status, 200);
        assert.ok(!(await response.text()).includes(stage.key));
      }
    }
    assert.equal((await fetch(`${site}/other`)).status, 404);
    const wrong = await fetch(`${site}/animals?cursor=wrong`);
    assert.equal(wrong.status, 400);
    assert.match(await wrong.text(), /"invalid_cursor"/);

    // A list that could not be fetched is not kept.
    const newest = `${site}/animals?cursor=last`;
    await stage.stop();
    assert.equal((await fetch(newest)).status, 503);
    await stage.start();
    assert.equal((await fetch(newest)).status, 200);

    rmSync(join(folder, 'animals.html'));
    assert.equal((await fetch(site)).status, 503);
    assert.deepEqual(incidents, []);
  },
);
