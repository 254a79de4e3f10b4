import type { Page } from '../http/pages.ts';

const CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

function htmlPage(title: string, body: string): Page {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
${body}
</html>
`;
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(html)),
    'Content-Security-Policy',
    CONTENT_SECURITY_POLICY,
  ];
  return () => ({ status: 200, headers, body: html });
}

/** The pages for people: the console, the reference, and what the deprecation links point at. */
export function consolePages(): [path: string, page: Page][] {
  return [
    ['/', htmlPage('Pet Store', '<p><a href="/docs">Reference</a></p>')],
    ['/docs', htmlPage('Pet Store reference', '<p><a href="/openapi.json">openapi.json</a></p>')],
    [
      '/docs/deprecations',
      htmlPage(
        'Deprecated operations',
        '<p><code>GET /v1/pets/{petId}</code> is removed on 5 December 2030. Use <code>GET /v1/pets</code> with the <code>status</code> filter.</p>',
      ),
    ],
  ];
}
