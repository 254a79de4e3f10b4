import type { Page } from '../http/pages.ts';
import { parseTarget } from '../http/target.ts';
import { HTML_HEADERS } from './assets.ts';

const CONSOLE_ASSETS = 'assets/src/web/console/page';

/** For a browser that requests a path that does not exist: says so, and shows the way back. */
export const notFoundPage: Page = ({ target }) => {
  const { path } = parseTarget(target);
  // Links are relative, so that they also work behind a proxy that adds a path prefix.
  const root = '../'.repeat(path.split('/').length - 2);
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Page not found · Pet Store</title>
<link rel="icon" href="${root}${CONSOLE_ASSETS}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}${CONSOLE_ASSETS}/style.css">
</head>
<body>
<header class="bar">
<a class="brand" href="${root || './'}"><img src="${root}${CONSOLE_ASSETS}/icon.svg" alt="" width="28" height="28">Pet Store</a>
<nav aria-label="Pages"><a href="${root || './'}">Console</a><a href="${root}docs">Docs</a></nav>
</header>
<main id="main">
<section class="card sign-in not-found">
<p class="small">404</p>
<h1>This page does not exist</h1>
<p class="lead">It may have wandered off, or the address has a typing error.</p>
<p class="actions"><a class="primary" href="${root || './'}">Open the console</a><a href="${root}docs">Read the docs</a></p>
<p class="small">Programs find the interface below <code>/v1</code>.</p>
</section>
</main>
</body>
</html>
`;
  return {
    status: 404,
    code: 'route_not_found',
    headers: [
      'Content-Type',
      'text/html; charset=utf-8',
      'Cache-Control',
      'no-store',
      ...HTML_HEADERS,
    ],
    body,
  };
};
