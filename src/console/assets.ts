import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { respondConditionally, type Representation } from '../http/conditional.ts';
import type { Page } from '../http/public-pages.ts';

const ETAG_LENGTH = 22;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

export interface Asset {
  file: URL;
  headers?: readonly string[];
  /** Changes the text before it is kept. */
  edit?: ((text: string) => string) | undefined;
}

/**
 * A file as a page. It is read when somebody first asks for it and kept from then on: a service that
 * nobody looks at in a browser pays nothing for its pages.
 */
export function assetPage(asset: Asset): Page {
  let loading: Promise<Representation> | undefined;
  return async (request) => {
    loading ??= loadAsset(asset).catch((fault: unknown) => {
      // The next request tries again.
      loading = undefined;
      throw fault;
    });
    return respondConditionally(request, await loading);
  };
}

async function loadAsset({ file, headers = [], edit }: Asset): Promise<Representation> {
  const extension = file.pathname.slice(file.pathname.lastIndexOf('.') + 1);
  const source = await readFile(file, 'utf8');
  const body = Buffer.from(edit === undefined ? source : edit(source));
  const etag = `"${hash('sha256', body, 'base64url').slice(0, ETAG_LENGTH)}"`;
  // A browser keeps the file but asks each time whether it still holds, so that an update shows at once.
  const common = ['Cache-Control', 'no-cache', 'ETag', etag, ...headers];
  return {
    etag,
    response: {
      status: 200,
      headers: [
        'Content-Type',
        CONTENT_TYPES[extension] ?? 'application/octet-stream',
        'Content-Length',
        String(body.length),
        ...common,
      ],
      body,
    },
    notModified: { status: 304, headers: common, body: '' },
  };
}

/** TypeScript as browsers read it: the types are blanked out, and the blanks then left out. */
export function toJavaScript(source: string): string {
  return tighten(stripTypeScriptTypes(source));
}

const COMMENT_LINES = /^[ \t]*(?:\/\/.*|\/\*[^]*?\*\/[ \t]*)$/gm;
const EDGE_SPACE = /^\s+|[ \t]+$/gm;

/**
 * Leaves out what only people read: lines that are comments, and space at the ends of lines. That is
 * safe as long as no text between backquotes spans lines; a test watches over it.
 */
export function tighten(source: string): string {
  return source.replace(COMMENT_LINES, '').replace(EDGE_SPACE, '');
}
