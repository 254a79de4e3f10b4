import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { test } from 'node:test';
import { DOCS_MODULES } from '../docs/contents.ts';
import { GET_PET_DEPRECATION } from '../../http/pets.ts';
import type { HttpRequest } from '../../http/message.ts';
import { respondWithPage } from '../../http/pages.ts';
import { toJavaScript } from '../assets.ts';
import { consolePages, FIRST_MODULES, LATER_MODULES, WORKSPACE_MODULES } from './pages.ts';

const MODULES = [...FIRST_MODULES, ...WORKSPACE_MODULES, ...LATER_MODULES];
const pages = new Map(consolePages('production'));

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
  return (await ask(path)).body;
}

function headerOf({ headers }: { headers: readonly string[] }, name: string): string | undefined {
  return headers[headers.indexOf(name) + 1];
}

/** The lines that are not empty, without the space around them. */
function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}

test('every page and asset has its type, and is 304 for its ETag', async () => {
  for (const [path] of consolePages('production')) {
    const answer = await ask(path);
    assert.equal(answer.status, 200, path);
    assert.match(
      headerOf(answer, 'Content-Type') ?? '',
      /^(text\/(html|css|javascript); charset=utf-8|image\/svg\+xml)$/,
    );
    assert.equal(headerOf(answer, 'Cache-Control'), 'no-cache');
    const again = await ask(path, { 'if-none-match': headerOf(answer, 'ETag') });
    assert.deepEqual([again.status, again.body], [304, ''], path);
  }
});

test('the page allows no inline scripts, no inline styles and no other host', async () => {
  const policy = headerOf(await ask('/'), 'Content-Security-Policy') ?? '';
  assert.match(
    policy,
    /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'/,
  );
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe|http|\*/);
});

test('every asset that the page names exists, and it names no other host', async () => {
  const named = [...(await textOf('/')).matchAll(/(?:href|src)="([^"#]+)/g)];
  assert.ok(named.length > 0, 'the page names no asset');
  for (const [, address = ''] of named) {
    const url = new URL(address, 'http://pets.example/');
    assert.equal(url.host, 'pets.example');
    // The pages at /docs have their own test.
    if (url.pathname.startsWith('/docs')) continue;
    assert.equal((await ask(url.pathname)).status, 200, address);
  }
});

test('the served modules lack only types, comments and space', async () => {
  for (const file of [...MODULES, ...DOCS_MODULES]) {
    const source = await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
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

test('every module that a served module imports is served too', async () => {
  for (const file of MODULES) {
    const code = await textOf(`/assets/${file}`);
    for (const [, from = ''] of code.matchAll(/(?:from |import\()'([^']+)'/g)) {
      const { pathname } = new URL(from, `http://pets.example/assets/${file}`);
      assert.equal((await ask(pathname)).status, 200, `${file} imports ${from}`);
    }
  }
});

test('in staging the console says so in its title, in a band and in the examples', async () => {
  const staging = new Map(consolePages('staging'));
  assert.equal(consolePages('staging'), consolePages('staging'), 'created once');
  const request = { method: 'GET', target: '/', headers: {}, turn: undefined };
  const page = { ...request, readBody: async () => Buffer.alloc(0) };
  const html = (await respondWithPage(staging, page, '/')).body;
  for (const part of [
    '<title>Staging · Console',
    'class="band"',
    'placeholder="pet_test_…"',
    'data-environment="staging"',
    ' <span>--env staging</span></code>',
    '>Staging</span>',
  ]) {
    assert.ok(html.includes(part), `the page lacks ${part}`);
    assert.equal((await textOf('/')).includes(part), false, part);
  }
});

test('the page names the date on which the service removes getPet', async () => {
  const { removedAt } = GET_PET_DEPRECATION;
  const removed = removedAt.toISOString().slice(0, 10);
  const inWords = removedAt.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  assert.ok((await textOf('/')).includes(`datetime="${removed}">${inWords}<`));
});
