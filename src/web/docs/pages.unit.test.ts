import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { consolePages } from '../console/pages.ts';
import { ERROR_CODES, ERRORS } from '../../domain/errors.ts';
import { GET_PET_DEPRECATION } from '../../http/pets.ts';
import type { HttpRequest } from '../../http/message.ts';
import { operations } from '../../http/operations.ts';
import { respondWithPage, type Page, type PublicPages } from '../../http/pages.ts';
import { notFoundPage } from '../not-found.ts';
import { Markdown } from './markdown.ts';
import { DOCS, type DocumentedService } from './contents.ts';
import { entriesOf, search, type IndexedPage } from './page/rank.ts';
import { docsPages } from './pages.ts';

const BROTLI = { 'accept-encoding': 'br' };
const PAGE_BYTES_MAX = 23_000;
const SEARCH_INDEX_BYTES_MAX = 25_000;
const SERVICE: DocumentedService = {
  baseUrl: 'https://pets.example/api/v1',
  linkBase: 'https://pets.example/api/v1',
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
  return (await ask(path, {}, from)).body;
}

function headerOf({ headers }: { headers: readonly string[] }, name: string): string | undefined {
  return headers[headers.indexOf(name) + 1];
}

/** The part of the page that is its own. */
async function articleOf(path: string): Promise<string> {
  return /<article>(.*)<\/article>/s.exec(await textOf(path))?.[1] ?? '';
}

/** What a reader sees of a part of a page. */
function textIn(html: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(\w+);/g, (_, name: string) => characters[name] ?? '');
}

test('every page at /docs and every asset has its type, and is 304 for its ETag', async () => {
  for (const [path] of own) {
    if (path === '/docs/') continue;
    const response = await ask(path);
    assert.equal(response.status, 200, path);
    assert.match(
      headerOf(response, 'Content-Type') ?? '',
      /^(text\/(html|css|javascript); charset=utf-8|application\/json)$/,
    );
    assert.equal(headerOf(response, 'Cache-Control'), 'no-cache');
    assert.match(headerOf(response, 'ETag') ?? '', /^"[\w-]{22}"$/);
    assert.equal(response.headers.length % 2, 0, 'each header has a value');
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

test('every page at /docs has all pages in order, its own sections, and the pages before and after it', async () => {
  for (const [index, { path, title }] of DOCS.entries()) {
    const html = await textOf(path);
    const pathOf = (address = '') => new URL(address, `http://pets.example${path}`).pathname;
    const nav = /<nav id="contents".*?<\/nav>/s.exec(html)?.[0] ?? '';
    const links = [...nav.matchAll(/href="([^"#]+)"( aria-current="page")?>(.*?)</g)];
    assert.deepEqual(
      links.map(([, address, isHere, name]) => [pathOf(address), isHere !== undefined, name]),
      DOCS.map((each) => [each.path, each.path === path, each.title]),
    );
    assert.deepEqual(
      [...nav.matchAll(/<p>(.*?)<\/p>/g)].map(([, group]) => group),
      ['Start', 'Guides', 'Reference', 'Run the service'],
    );
    const anchors = [...nav.matchAll(/href="#(.*?)"/g)].map(([, id]) => id);
    const sections = [...html.matchAll(/<h2 id="(.*?)"/g)].map(([, id]) => id);
    assert.deepEqual(anchors, sections, path);
    assert.equal(nav.includes('<ul></ul>'), false);
    const turns = [...html.matchAll(/<a rel="(\w+)" href="(.*?)"><span>\w+<\/span> (.*?)</g)];
    assert.deepEqual(
      turns.map(([, rel, address, name]) => [rel, pathOf(address), name]),
      [
        ...DOCS.slice(0, index)
          .slice(-1)
          .map((each) => ['prev', each.path, each.title]),
        ...DOCS.slice(index + 1, index + 2).map((each) => ['next', each.path, each.title]),
      ],
    );
    assert.ok(html.includes(`<h1>${title}</h1>`), title);
  }
});

test('every module that a page at /docs needs is preloaded', async () => {
  const html = await textOf('/docs');
  const preloaded = [...html.matchAll(/rel="modulepreload" href="(.*?)"/g)].map(([, file]) => file);
  assert.ok(preloaded.includes('assets/src/web/docs/page/main.ts'));
  for (const file of preloaded) {
    const code = await textOf(`/${file}`);
    for (const [, from = ''] of code.matchAll(/from '([^']+)'/g)) {
      const { pathname } = new URL(from, `http://pets.example/${file}`);
      assert.ok(preloaded.includes(pathname.slice(1)), `${file} imports ${from}`);
    }
  }
});

test('a page that does not exist leads back, also behind a proxy that adds a path prefix', async () => {
  for (const path of ['/nothing', '/docs/nothing?a=/b/c', '/a/b/c/d']) {
    const request = { method: 'GET', target: path, headers: {}, readBody };
    const response = await notFoundPage(request);
    const html = response.body;
    const links = [...html.matchAll(/(?:href|src)="(.*?)"/g)].map(
      ([, address = '']) => new URL(address, `http://pets.example/prefix${path}`).pathname,
    );
    const style = '/prefix/assets/src/web/console/page/style.css';
    assert.deepEqual(links, [style, '/prefix/', '/prefix/docs']);
    assert.deepEqual([response.status, response.code], [404, 'route_not_found']);
    assert.doesNotMatch(html, /(?:href|src)=""/);
    const policy = headerOf(await ask('/'), 'Content-Security-Policy');
    assert.equal(headerOf(response, 'Content-Security-Policy'), policy);
  }
});

test('every id on a page at /docs occurs once', async () => {
  for (const { path } of DOCS) {
    const ids = [...(await textOf(path)).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(ids, [...new Set(ids)], path);
  }
});

test('each page at /docs with all its files has at most 23,000 compressed bytes, and the index of the search 25,000', async (t) => {
  for (const { path } of DOCS) {
    const html = await textOf(path);
    const files = [...html.matchAll(/(?:href|src)="([^"]*assets\/[^"]+)"/g)].map(
      ([, address = '']) => new URL(address, `http://pets.example${path}`).pathname,
    );
    let bytes = (await ask(path, BROTLI)).body.length;
    for (const file of new Set(files)) {
      bytes += (await ask(file, BROTLI)).body.length;
    }
    t.diagnostic(`${path}: ${bytes} bytes`);
    assert.ok(bytes <= PAGE_BYTES_MAX, `${path} has ${bytes} bytes`);
  }
  // It is loaded when the reader begins to search, and has the text that the results show.
  const index = (await ask('/docs/search.json', BROTLI)).body.length;
  t.diagnostic(`search: ${index} bytes`);
  assert.ok(index <= SEARCH_INDEX_BYTES_MAX, `${index} bytes`);
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
    assert.ok(entry.includes(`<span class="status">${ERRORS[code].status}</span>`), code);
    assert.ok(textIn(entry).includes(ERRORS[code].meaning), code);
    assert.deepEqual(
      [...entry.matchAll(/href="reference#(\w+)"><code>(.*?)</g)].map(([, id, name]) => [id, name]),
      operations
        .filter(({ errors }) => errors.includes(code))
        .map(({ id, method, path }) => [id, `${method} ${path}`]),
    );
    assert.equal(entry.includes('<dt>From</dt>'), entry.includes('href="reference#'));
  }
});

test('the pages name the addresses, the dates, the rate limit and the environment of the service', async () => {
  assert.match(await articleOf('/docs'), /https:\/\/pets\.example\/api\/v1\/pets/);
  const deprecations = await articleOf('/docs/deprecations');
  for (const date of [GET_PET_DEPRECATION.since, GET_PET_DEPRECATION.removedAt]) {
    const inWords = date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
    assert.ok(deprecations.includes(inWords), inWords);
  }
  assert.ok(deprecations.includes(`@${GET_PET_DEPRECATION.since.getTime() / 1000}\n`));
  assert.match(textIn(await articleOf('/docs')), /keys create --name quick-start\n/);
  assert.doesNotMatch(await articleOf('/docs'), /To retry safely/, 'only samples are taken');
  assert.match(await articleOf('/docs/rate-limits'), /has no rate limit/);
  const limited = publicPages(
    docsPages({ ...SERVICE, rateLimit: { requests: 600, windowSeconds: 60 } }),
  );
  assert.match(await textOf('/docs/rate-limits', limited), /600 requests in 60 seconds/);
  const baseUrl = 'https://pets.example/v1/pets/v1';
  const staging = publicPages(
    docsPages({ ...SERVICE, baseUrl, linkBase: baseUrl, environment: 'staging' }),
  );
  assert.match(
    await textOf('/docs/deprecations', staging),
    /https:\/\/pets\.example\/v1\/pets\/docs\/deprecations/,
  );
  assert.match(
    textIn(await textOf('/docs', staging)),
    /keys create --name quick-start --env staging/,
  );
});

test('without a configured URL, links are paths as they are sent, and each address is marked for the script', async () => {
  const site = 'http://127.0.0.1:8080';
  const service = { ...SERVICE, baseUrl: `${site}/v1`, linkBase: '/v1' };
  const unknown = publicPages(docsPages(service));
  for (const { path } of DOCS) {
    const article = /<article>.*<\/article>/s.exec(await textOf(path, unknown))?.[0] ?? '';
    const marked = article.replaceAll(`<span class="site">${site}</span>`, '');
    assert.ok(!marked.includes(site), `${path}: an address is not marked`);
    assert.doesNotMatch(article, /<[^>]*<span class="site"/, path);
    assert.ok(!(await articleOf(path)).includes('class="site"'), path);
  }
  const shown = textIn(await textOf('/docs/pagination', unknown));
  assert.match(shown, /^Link: <\/v1\/pets\?limit=2&cursor=\w+>; rel="next",$/m);
  assert.match(shown, /site=http:\/\/127\.0\.0\.1:8080$/m);
  const reference = textIn(await textOf('/docs/reference', unknown));
  assert.match(reference, /^Location: \/v1\/pets\/1$/m);
  assert.match(reference, /^Link: <\/v1\/pets>; rel="successor-version", <\/docs\/deprecations>/m);
  const index = await textOf('/docs/search.json', unknown);
  assert.ok(!index.includes(site));
  assert.match(index, /The base address of this service is \/v1\./);
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

test('the search finds the right page first for the words of those who are new', async () => {
  const entries = entriesOf(JSON.parse(await textOf('/docs/search.json')) as IndexedPage[]);
  const expected: [word: string, href: string][] = [
    ['cors', 'docs/web-site#cors-let-a-page-in-the-browser-use-fetch'],
    ['fetch', 'docs/web-site#cors-let-a-page-in-the-browser-use-fetch'],
    ['browser', 'docs/web-site#cors-let-a-page-in-the-browser-use-fetch'],
    ['javascript', 'docs/web-site#the-page-html-and-javascript'],
    ['web site', 'docs/web-site'],
    ['add animals', 'docs/add'],
    ['update', 'docs/not-in-the-api#change-or-remove-an-animal'],
    ['sold', 'docs/not-in-the-api#mark-an-animal-as-sold'],
    ['lan', 'docs/access#use-it-from-the-other-computer-lan-and-https'],
    ['https', 'docs/access#use-it-from-the-other-computer-lan-and-https'],
    ['postman', 'docs/not-in-the-api#postman-bruno-and-insomnia'],
    ['python', 'docs/clients#python'],
    ['backup', 'docs/backup'],
    ['restore', 'docs/backup'],
    ['disk', 'docs/troubleshooting#the-disk-is-full'],
    ['docker', 'docs/running#in-a-container'],
    ['container', 'docs/running#in-a-container'],
    ['kubernetes', 'docs/running#on-kubernetes'],
    ['systemd', 'docs/running#under-systemd'],
    ['boot', 'docs/running#at-boot-without-root'],
    ['upgrade', 'docs/running#upgrade'],
    ['memory', 'docs/running#memory'],
    ['workers', 'docs/running#workers'],
    ['excel', 'docs/add#many-at-once'],
    ['csv', 'docs/add#many-at-once'],
    ['firewall', 'docs/access#use-it-from-the-other-computer-lan-and-https'],
    ['caddy', 'docs/access#use-it-from-the-other-computer-lan-and-https'],
    ['wifi', 'docs/access#use-it-from-the-other-computer-lan-and-https'],
    ['monitor', 'docs/monitoring'],
  ];
  for (const [query, href] of expected) {
    assert.equal(search(entries, query.split(' '))[0]?.href, href, query);
  }
});
