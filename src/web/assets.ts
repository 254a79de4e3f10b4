import { posix } from 'node:path';
import { promisify } from 'node:util';
import type { HttpResponse } from '../http/message.ts';
import type { Page } from '../http/pages.ts';
import { etagOf, respondConditionally, type Representation } from '../http/response-cache.ts';
import { readProgramFile, withoutTypes } from '../ops/installation.ts';

/** The repository root. */
const ROOT = new URL('../../', import.meta.url);

/** The better one first. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
};

/** For every page: no inline code, no other host, and no text that becomes markup. */
export const HTML_HEADERS = [
  'Content-Security-Policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Opener-Policy',
  'same-origin',
];

/** A page that is made anew for each request. */
export function htmlResponse(body: string): HttpResponse {
  const type = ['Content-Type', 'text/html; charset=utf-8', 'Cache-Control', 'no-store'];
  return { status: 200, headers: [...type, ...HTML_HEADERS], body };
}

interface Asset {
  /** Below the repository root. */
  file: string;
  headers?: readonly string[];
  /** Transforms the text before it is cached. */
  edit?: (text: string) => string;
}

/** A file of the program at /assets/ and its path in the repository, so that imports work. */
export function fileAsset(file: string): [path: string, page: Page] {
  return [`/assets/${file}`, assetPage({ file })];
}

/** A script and all that it imports, below the repository root. A page preloads them, so that none waits for another. */
export function modulesFrom(script: string): string[] {
  const files = new Set([script]);
  for (const file of files) {
    const code = readProgramFile(new URL(file, ROOT));
    for (const [, path = ''] of code.matchAll(/^(?:im|ex)port (?!type )[^']*from '(\.[^']+)'/gm)) {
      files.add(posix.join(posix.dirname(file), path));
    }
  }
  return [...files];
}

/** Serves a file, of a script without its types. Pages cost nothing until they are used. */
export function assetPage({ file, headers, edit = (text) => text }: Asset): Page {
  const extension = file.slice(file.lastIndexOf('.') + 1);
  return contentPage(
    extension,
    async () => {
      const text = readProgramFile(new URL(file, ROOT));
      return edit(extension === 'ts' ? withoutTypes(text) : text);
    },
    headers,
  );
}

/** Serves a text that is made and compressed on the first request and kept. */
export function contentPage(
  extension: string,
  load: () => Promise<string>,
  headers: readonly string[] = [],
): Page {
  const type = ['Content-Type', CONTENT_TYPES[extension] ?? 'application/octet-stream'];
  const make = async (coding: Coding | undefined): Promise<Representation> => {
    const text = await load();
    const etag = etagOf(coding === undefined ? text : `${coding}\n${text}`);
    // A browser caches the file but revalidates it on each use, so that an update takes effect at once.
    const common = ['Cache-Control', 'no-cache', 'Vary', 'Accept-Encoding', 'ETag', etag];
    const notModified = { status: 304, headers: [...common, ...headers], body: '' };
    const all = [...type, ...notModified.headers];
    if (coding === undefined) {
      return { etag, response: { status: 200, headers: all, body: text }, notModified };
    }
    const body = (await compress(text, coding)).toString('latin1');
    all.push('Content-Encoding', coding);
    return { etag, response: { status: 200, headers: all, body, isBinary: true }, notModified };
  };
  const made = new Map<Coding | undefined, Promise<Representation>>();
  return async (request) => {
    const coding = codingFor(request.headers['accept-encoding']);
    return respondConditionally(request, await made.getOrInsertComputed(coding, make));
  };
}

/** Loads node:zlib when a page is first shown: many services never show one. */
async function compress(text: string, coding: Coding): Promise<Buffer> {
  const { brotliCompress, gzip } = await import('node:zlib');
  return coding === 'br' ? promisify(brotliCompress)(text) : promisify(gzip)(text);
}

/** The best coding that a client accepts, by its Accept-Encoding. */
function codingFor(accepted = ''): Coding | undefined {
  const offers = accepted.toLowerCase().replaceAll(/\s/g, '').split(',');
  const weights = new Map(
    offers.map((offer) => {
      const [name, weight = '1'] = offer.split(';q=');
      return [name, Number(weight)];
    }),
  );
  return CODINGS.find((coding) => (weights.get(coding) ?? 0) > 0);
}
