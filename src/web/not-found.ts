import type { Page } from '../http/pages.ts';
import { parseTarget } from '../http/target.ts';
import { htmlResponse } from './assets.ts';

/** For a browser that requests a path that does not exist. */
export const notFoundPage: Page = ({ target }) => {
  const { path } = parseTarget(target);
  // Links are relative, so that they also work behind a proxy that adds a path prefix.
  const root = '../'.repeat(path.split('/').length - 2) || './';
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Page not found · Pet Store</title>
<link rel="stylesheet" href="${root}assets/src/web/console/page/style.css">
<main>
<h1>This page does not exist</h1>
<p><a href="${root}">Open the console</a> or <a href="${root}docs">read the docs</a>.</p>
</main>
`;
  return { ...htmlResponse(html), status: 404, code: 'route_not_found' };
};
