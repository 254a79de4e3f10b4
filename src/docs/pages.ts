import { assetPage, contentPage, HTML_HEADERS, tighten, toJavaScript } from '../console/assets.ts';
import type { Page } from '../http/message.ts';
import type { Site } from './site.ts';

/** What the pages say about the service that shows them. */
export interface DocumentedService {
  /** Ends in /v1. */
  baseUrl: string;
  environment: 'production' | 'staging';
  rateLimit: { requests: number; windowSeconds: number } | undefined;
}

/** The pages in the order of the table of contents. The file is Markdown, below the repository root. */
export const DOCS = [
  { path: '/docs', title: 'Quick start', group: 'Start', file: 'src/docs/content/quick-start.md' },
  guide('authentication', 'Authentication'),
  guide('pagination', 'Pagination'),
  guide('idempotency', 'Idempotency'),
  guide('conditional-requests', 'Conditional requests'),
  { path: '/docs/errors', title: 'Errors', group: 'Guides', file: 'docs/errors.md' },
  guide('rate-limits', 'Rate limits'),
  reference('reference', 'API reference', 'src/docs/content/reference.md'),
  reference('generated-clients', 'Generated clients', 'docs/generated-clients.md'),
  reference('deprecations', 'Deprecations', 'src/docs/content/deprecations.md'),
  reference('changelog', 'Changelog', 'CHANGELOG.md'),
] as const satisfies DocsPage[];

export interface DocsPage {
  path: string;
  title: string;
  group: string;
  file: string;
}

function guide(name: string, title: string): DocsPage {
  return { path: `/docs/${name}`, title, group: 'Guides', file: `src/docs/content/${name}.md` };
}

function reference(name: string, title: string, file: string): DocsPage {
  return { path: `/docs/${name}`, title, group: 'Reference', file };
}

const ROOT = new URL('../../', import.meta.url);
export const DOCS_MODULES = ['copy', 'key', 'languages', 'main', 'search', 'try'].map(
  (name) => `src/docs/page/${name}.ts`,
);

/** The pages at /docs and their assets. They are rendered once, when the first of them is requested. */
export function docsPages(service: DocumentedService): [path: string, page: Page][] {
  let rendering: Promise<Site> | undefined;
  const site = () =>
    (rendering ??= import('./site.ts')
      .then(({ renderSite }) => renderSite(service, ROOT))
      .catch((fault: unknown) => {
        // The next request tries again.
        rendering = undefined;
        throw fault;
      }));
  return [
    ...DOCS.map(({ path }): [string, Page] => [
      path,
      contentPage('html', async () => (await site()).pages.get(path) ?? '', HTML_HEADERS),
    ]),
    ['/docs/search.json', contentPage('json', async () => (await site()).searchIndex)],
    ...DOCS_MODULES.map((file): [string, Page] => [
      `/assets/${file}`,
      assetPage({ file: new URL(file, ROOT), edit: toJavaScript }),
    ]),
    [
      '/assets/src/docs/page/docs.css',
      assetPage({ file: new URL('src/docs/page/docs.css', ROOT), edit: tighten }),
    ],
  ];
}
