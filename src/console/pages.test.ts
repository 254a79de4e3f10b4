import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { test } from 'node:test';
import { GET_PET_DEPRECATION } from '../http/pets.ts';
import type { HttpRequest } from '../http/message.ts';
import { respondWithPage } from '../http/router.ts';
import { toJavaScript } from './assets.ts';
import { CONSOLE_MODULES, consolePages, SDK_MODULES } from './pages.ts';

const pages = new Map(consolePages());

function ask(path: string, headers: HttpRequest['headers'] = {}) {
  const request = {
    method: 'GET',
    target: path,
    headers,
    turn: undefined,
    readBody: async () => Buffer.alloc(0),
  };
  return respondWithPage(pages, request, path);
}

async function textOf(path: string): Promise<string> {
  return String((await ask(path)).body);
}

function headerOf({ headers }: { headers: readonly string[] }, name: string): string | undefined {
  return headers[headers.indexOf(name) + 1];
}

/** The lines that are not empty, without the space around them. */
function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}

test('every page and asset has its type and length, and is 304 for its ETag', async () => {
  for (const [path] of consolePages()) {
    const answer = await ask(path);
    assert.equal(answer.status, 200, path);
    assert.match(
      headerOf(answer, 'Content-Type') ?? '',
      /^(text\/(html|css|javascript); charset=utf-8|image\/svg\+xml)$/,
    );
    assert.equal(headerOf(answer, 'Content-Length'), String(answer.body.length));
    assert.equal(headerOf(answer, 'Cache-Control'), 'no-cache');
    const again = await ask(path, { 'if-none-match': headerOf(answer, 'ETag') });
    assert.deepEqual([again.status, again.body], [304, ''], path);
  }
});

test('no page allows inline scripts, inline styles or another host', async () => {
  for (const path of ['/', '/docs', '/docs/deprecations']) {
    const policy = headerOf(await ask(path), 'Content-Security-Policy') ?? '';
    assert.match(
      policy,
      /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'/,
    );
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|http|\*/);
  }
});

test('every asset that a page names exists, and no page names another host', async () => {
  for (const path of ['/', '/docs', '/docs/deprecations']) {
    const html = await textOf(path);
    const named = [...html.matchAll(/(?:href|src)="([^"#]+)/g)].map(([, address = '']) => address);
    assert.ok(named.length > 0, `${path} names no asset`);
    for (const address of named) {
      const url = new URL(address, `http://pets.example${path}`);
      assert.equal(url.host, 'pets.example');
      assert.equal((await ask(url.pathname)).status, 200, `${path} names ${address}`);
    }
  }
});

test('the served modules lack only types, comments and space', async () => {
  for (const file of [...CONSOLE_MODULES, ...SDK_MODULES]) {
    const source = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
    const code = source.replaceAll(/^\s*(?:\/\/.*|\/\*[^]*?\*\/)$/gm, '');
    for (const line of code.split('\n')) {
      const backquotes = line.split('`').length - 1;
      assert.equal(backquotes % 2, 0, `${file}: a text between backquotes spans lines: ${line}`);
    }
    const withoutTypes = stripTypeScriptTypes(source);
    const withoutComments = withoutTypes.replaceAll(/^\s*\/\*\*?\s[^]*?\*\/|^\s*\/\/.*/gm, '');
    assert.deepEqual(linesOf(toJavaScript(source)), linesOf(withoutComments), file);
    assert.doesNotMatch(toJavaScript(source), /^\s*(?:interface|import type|export type) /m);
  }
});

test('the pages name the dates that the service uses', async () => {
  const { since, removedAt } = GET_PET_DEPRECATION;
  const removed = removedAt.toISOString().slice(0, 10);
  const removedInWords = removedAt.toLocaleDateString('en-GB', {
    dateStyle: 'long',
    timeZone: 'UTC',
  });
  const deprecations = await textOf('/docs/deprecations');
  assert.ok(deprecations.includes(`datetime="${since.toISOString().slice(0, 10)}"`));
  assert.ok(deprecations.includes(`datetime="${removed}T00:00:00Z">${removedInWords}<`));
  assert.ok((await textOf('/')).includes(`datetime="${removed}">${removedInWords}<`));
  assert.ok((await textOf('/assets/src/console/page/reference.css')).includes(removedInWords));
});
