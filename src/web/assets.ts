import type { Page } from '../http/pages.ts';
import { etagOf, respondConditionally, type Representation } from '../http/response-cache.ts';
import { readProgramFile, withoutTypes } from '../installation.ts';

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

export interface Asset {
  file: URL;
  headers?: readonly string[];
  /** Transforms the text before it is cached. */
  edit: (text: string) => string;
}

/** Serves a file. Pages cost nothing until they are used. */
export function assetPage({ file, headers, edit }: Asset): Page {
  const extension = file.pathname.slice(file.pathname.lastIndexOf('.') + 1);
  return contentPage(extension, async () => edit(readProgramFile(file)), headers);
}

/** Serves a text that is made on the first request and kept. */
export function contentPage(
  extension: string,
  load: () => Promise<string>,
  headers: readonly string[] = [],
): Page {
  let loading: Promise<Representation> | undefined;
  return async (request) => {
    loading ??= load()
      .then((text) => represent(text, extension, headers))
      .catch((fault: unknown) => {
        // The next request tries again.
        loading = undefined;
        throw fault;
      });
    return respondConditionally(request, await loading);
  };
}

function represent(body: string, extension: string, headers: readonly string[]): Representation {
  const etag = etagOf(body);
  // A browser caches the file but revalidates it on each use, so that an update takes effect at once.
  const common = ['Cache-Control', 'no-cache', 'ETag', etag, ...headers];
  return {
    etag,
    response: {
      status: 200,
      headers: ['Content-Type', CONTENT_TYPES[extension] ?? 'application/octet-stream', ...common],
      body,
    },
    notModified: { status: 304, headers: common, body: '' },
  };
}

/** Converts TypeScript to JavaScript for browsers: removes the types, then the space they leave. */
export function toJavaScript(source: string): string {
  return tighten(withoutTypes(source));
}

const COMMENT_LINES = /^[ \t]*(?:\/\/.*|\/\*[^]*?\*\/[ \t]*)$/gm;
const EDGE_SPACE = /^\s+|[ \t]+$/gm;

/**
 * Removes comment lines and the space at both ends of each line. This is safe only while no template
 * literal spans several lines; a test checks that.
 */
export function tighten(source: string): string {
  return source.replace(COMMENT_LINES, '').replace(EDGE_SPACE, '');
}

/** Also removes the space that separates the parts of a rule. No text in quotes has these characters. */
export function tightenStyles(source: string): string {
  return tighten(source)
    .replace(/\s*([{};,])\s*/g, '$1')
    .replaceAll(': ', ':')
    .replaceAll(';}', '}');
}
