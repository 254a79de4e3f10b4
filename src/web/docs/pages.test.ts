import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { consolePages } from '../console/pages.ts';
import { ERROR_CODES } from '../../domain/errors.ts';
import { GET_PET_DEPRECATION } from '../../http/pets.ts';
import type { HttpRequest, Page, PublicPages } from '../../http/message.ts';
import { operations } from '../../http/operations.ts';
import { respondWithPage } from '../../http/router.ts';
import { Markdown } from './markdown.ts';
import { DOCS, type DocumentedService } from './contents.ts';
import { docsPages } from './pages.ts';

const SEARCH_INDEX_BYTES_MAX = 20_000;
const PAGE_BYTES_MAX = 80_000;
const SERVICE: DocumentedService = {
  baseUrl: 'https://pets.example/api/v1',
  environment: 'production',
  rateLimit: undefined,
};
const own = docsPages(SERVICE);

const openApi: Page = () => ({ status: 200, headers: [], body: '' });

function publicPages(docs: ReturnType<typeof docsPages>): PublicPages {
  return new Map([...consolePages('production'), ...docs, ['/openapi.json', openApi]]);
}

const readBody = async () => Buffer.alloc(0);

const pages = publicPages(own);

function ask(path: string, headers: HttpRequest['headers'] = {}, from = pages) {
  return respondWithPage(from, { method: 'GET', target: path, headers, readBody }, path);
}

async function textOf(path: string, from = pages): Promise<string> {
  return String((await ask(path, {}, from)).body);
}

function headerOf({ headers }: { headers: readonly string[] }, name: string): string | undefined {
  return headers[headers.indexOf(name) + 1];
}

/** The part of the page that is its own. */
async function articleOf(path: string): Promise<string> {
  return /<article>(.*)<\/article>/s.exec(await textOf(path))?.[1] ?? '';
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

test('every page at /docs and every asset has its type and length, and is 304 for its ETag', async () => {
  for (const [path] of own) {
    if (path === '/docs/') continue;
    const response = await ask(path);
    assert.equal(response.status, 200, path);
    assert.match(
      headerOf(response, 'Content-Type') ?? '',
      /^(text\/(html|css|javascript); charset=utf-8|application\/json)$/,
    );
    assert.equal(headerOf(response, 'Content-Length'), String(response.body.length));
    assert.equal(headerOf(response, 'Cache-Control'), 'no-cache');
    const again = await ask(path, { 'if-none-match': headerOf(response, 'ETag') });
    assert.deepEqual([again.status, again.body], [304, ''], path);
  }
});

test('the pages at /docs have the policy of the console: no inline code and no other host', async () => {
  const policy = headerOf(await ask('/'), 'Content-Security-Policy');
  for (const { path } of DOCS) {
    assert.equal(headerOf(await ask(path), 'Content-Security-Policy'), policy);
    assert.doesNotMatch(await textOf(path), / style="| on\w+="|<script>|<style/);
  }
});

test('every link and asset on a page at /docs leads to a page, and every anchor to an element', async () => {
  for (const { path } of DOCS) {
    const html = await textOf(path);
    assert.doesNotMatch(html, /(?:href|src)=""/, path);
    for (const [, attribute, address = ''] of html.matchAll(/(href|src)="([^"]+)"/g)) {
      const url = new URL(address, `http://pets.example${path}`);
      if (url.host !== 'pets.example') {
        assert.equal(attribute, 'href', `${path} loads ${address}`);
        continue;
      }
      assert.equal((await ask(url.pathname)).status, 200, `${path} names ${address}`);
      if (url.hash === '') continue;
      const target = await textOf(url.pathname);
      assert.ok(target.includes(`id="${url.hash.slice(1)}"`), `${path} names ${address}`);
    }
  }
});

test('every id on a page at /docs occurs once', async () => {
  for (const { path } of DOCS) {
    const ids = [...(await textOf(path)).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(ids, [...new Set(ids)], path);
  }
});

test('each page at /docs with all its files has at most 80,000 bytes, and the index of the search 20,000', async (t) => {
  for (const { path } of DOCS) {
    const html = await textOf(path);
    const files = [...html.matchAll(/(?:href|src)="([^"]*assets\/[^"]+)"/g)].map(
      ([, address = '']) => new URL(address, `http://pets.example${path}`).pathname,
    );
    let bytes = Buffer.byteLength(html);
    for (const file of new Set(files)) {
      bytes += (await ask(file)).body.length;
    }
    t.diagnostic(`${path}: ${bytes} bytes`);
    assert.ok(bytes <= PAGE_BYTES_MAX, `${path} has ${bytes} bytes`);
  }
  // It is loaded when the reader begins to search.
  const index = (await ask('/docs/search.json')).body.length;
  assert.ok(index <= SEARCH_INDEX_BYTES_MAX, `${index} bytes`);
});

test('/docs/reference shows each operation once, with its own errors and no others', async () => {
  const article = await articleOf('/docs/reference');
  for (const [index, { id, parameters, errors }] of operations.entries()) {
    assert.equal(count(article, `id="${id}"`), 1);
    const next = operations[index + 1]?.id ?? 'every-request';
    const part = article.slice(article.indexOf(`id="${id}"`), article.indexOf(`<h2 id="${next}"`));
    const listed = [...part.matchAll(/href="errors#(\w+)"/g)].map(([, code]) => code);
    assert.deepEqual(new Set(listed), new Set<string | undefined>(errors));
    assert.equal(listed.length, errors.length);
    for (const { name } of parameters) assert.ok(part.includes(`name="${name}"`), name);
  }
  const shared = ERROR_CODES.filter((code) =>
    operations.every(({ errors }) => !errors.includes(code)),
  );
  for (const code of shared) assert.equal(count(article, `href="errors#${code}"`), 1, code);
});

test('/docs/errors explains every code once, in the words of docs/errors.md', async () => {
  const source = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  const markdown = new Markdown('../', {});
  const article = await articleOf('/docs/errors');
  for (const code of ERROR_CODES) {
    const [, cause = '', remedy = ''] =
      new RegExp(`^\\| \`${code}\` \\|[^|]*\\|[^|]*\\| ([^|]*) \\| ([^|]*) \\|$`, 'm').exec(
        source,
      ) ?? [];
    const start = article.indexOf(`<div class="error" id="${code}">`);
    assert.notEqual(start, -1, code);
    const entry = article.slice(start, article.indexOf('</dl>', start));
    assert.ok(cause !== '' && entry.includes(markdown.inline(cause)), `${code}: its cause`);
    assert.ok(remedy !== '' && entry.includes(markdown.inline(remedy)), `${code}: its remedy`);
  }
});

test('the pages name the addresses, the dates, the rate limit and the environment of the service', async () => {
  assert.match(await articleOf('/docs'), /https:\/\/pets\.example\/api\/v1\/pets/);
  const deprecations = await articleOf('/docs/deprecations');
  for (const date of [GET_PET_DEPRECATION.since, GET_PET_DEPRECATION.removedAt]) {
    const inWords = date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
    assert.ok(deprecations.includes(inWords), inWords);
  }
  assert.match(await articleOf('/docs/rate-limits'), /has no rate limit/);
  const limited = publicPages(
    docsPages({ ...SERVICE, rateLimit: { requests: 600, windowSeconds: 60 } }),
  );
  assert.match(await textOf('/docs/rate-limits', limited), /600 requests in 60 seconds/);
  const staging = publicPages(docsPages({ ...SERVICE, environment: 'staging' }));
  assert.match(await textOf('/docs', staging), /keys create --name quick-start --env staging/);
});

test('the search finds each page, heading, operation, header and error code', async () => {
  const index = JSON.parse(await textOf('/docs/search.json')) as {
    href: string;
    sections: [id: string, title: string, terms: string][];
  }[];
  assert.deepEqual(
    index.map(({ href }) => `/${href}`),
    DOCS.map(({ path }) => path),
  );
  const all = index.flatMap(({ sections }) => sections.flat()).join(' ');
  for (const term of [
    ...ERROR_CODES,
    'Idempotency-Key',
    'RateLimit-Policy',
    'listPets',
    'cursor',
  ]) {
    assert.ok(all.includes(term), term);
  }
});

test('a text that names an unknown value is refused', () => {
  assert.throws(() => new Markdown('', {}).render('{{nothing}}'), /unknown value: nothing/);
});

test('the reference marks exactly the fields and parameters that are required', async () => {
  const article = await articleOf('/docs/reference');
  const marked = [...article.matchAll(/<dt><code>(\w[\w-]*)<\/code>(?:(?!<\/dt>).)*<\/dt>/gs)];
  const required = marked.flatMap(([term, name]) => (term.includes('required') ? [name] : []));
  assert.deepEqual(required, ['name', 'categoryId', 'petId', 'Authorization']);
});
