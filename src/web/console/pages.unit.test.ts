import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { GET_PET_DEPRECATION } from '../../http/pets.ts';
import { bytesOf, type HttpRequest } from '../../http/message.ts';
import { respondWithPage } from '../../http/pages.ts';
import { CONSOLE_MODULES, consolePages } from './pages.ts';

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

test('the served modules lack only their types', async () => {
  for (const file of CONSOLE_MODULES) {
    const source = await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
    assert.equal(await textOf(`/assets/${file}`), stripTypeScriptTypes(source), file);
  }
});

const CODINGS = { br: brotliDecompressSync, gzip: gunzipSync } as const;

test('every page and asset is compressed for a client that accepts it, and is 304 for the ETag of its coding', async () => {
  for (const [path] of consolePages('production')) {
    const plain = await ask(path);
    assert.equal(plain.headers.includes('Content-Encoding'), false, path);
    assert.equal(headerOf(plain, 'Vary'), 'Accept-Encoding', path);
    for (const [coding, decompress] of Object.entries(CODINGS)) {
      const accepts = { 'accept-encoding': coding };
      const response = await ask(path, accepts);
      assert.equal(headerOf(response, 'Content-Encoding'), coding);
      assert.equal(headerOf(response, 'Vary'), 'Accept-Encoding');
      assert.equal(decompress(Buffer.from(response.body, 'latin1')).toString(), plain.body, path);
      assert.equal(bytesOf(response), response.body.length);
      const etag = headerOf(response, 'ETag');
      assert.notEqual(etag, headerOf(plain, 'ETag'));
      assert.equal((await ask(path, { ...accepts, 'if-none-match': etag })).status, 304);
    }
  }
});

test('Accept-Encoding chooses Brotli before gzip, and nothing that it refuses', async () => {
  const chosen = {
    'gzip, deflate, br, zstd': 'br',
    'GZIP;q=0.5': 'gzip',
    'br; q=0, gzip': 'gzip',
    'br;q=0.000, *': undefined,
    'deflate, identity': undefined,
    'xbr;q=1, gzipped': undefined,
    '': undefined,
  };
  for (const [accepted, coding] of Object.entries(chosen)) {
    const response = await ask('/', { 'accept-encoding': accepted });
    const found = response.headers.includes('Content-Encoding')
      ? headerOf(response, 'Content-Encoding')
      : undefined;
    assert.equal(found, coding, accepted);
  }
});

test('every module of the console is preloaded and used, and what it imports is served', async () => {
  const html = await textOf('/');
  const preloaded = [...html.matchAll(/rel="modulepreload" href="assets\/([^"]+)"/g)];
  assert.deepEqual(
    preloaded.map(([, file]) => file),
    CONSOLE_MODULES,
  );
  const used = new Set([`/assets/${CONSOLE_MODULES.find((file) => file.endsWith('/main.ts'))}`]);
  for (const file of CONSOLE_MODULES) {
    const code = await textOf(`/assets/${file}`);
    for (const [, from = ''] of code.matchAll(/(?:from |import\()'([^']+)'/g)) {
      const { pathname } = new URL(from, `http://pets.example/assets/${file}`);
      assert.equal((await ask(pathname)).status, 200, `${file} imports ${from}`);
      used.add(pathname);
    }
  }
  assert.deepEqual(
    [...used].toSorted(),
    CONSOLE_MODULES.map((file) => `/assets/${file}`).toSorted(),
  );
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

test('the dialog of an animal names the date on which the service removes getPet', async () => {
  const script = '/assets/src/web/console/page/animal.ts';
  const { removedAt } = GET_PET_DEPRECATION;
  const inWords = removedAt.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  assert.ok((await textOf(script)).includes(`goes away on ${inWords}.`));
});
