// Which pages there are at /docs, in their order, and what they know about the service.

import { modulesFrom } from '../assets.ts';

/** What the pages say about the service that shows them. */
export interface DocumentedService {
  /** The URL that the samples show. Ends in /v1. */
  baseUrl: string;
  /** What the links of responses begin with: the configured URL, or without one its path. Ends in /v1. */
  linkBase: string;
  environment: 'production' | 'staging';
  rateLimit: { requests: number; windowSeconds: number } | undefined;
}

/** The pages in the order of the table of contents. The file is Markdown, below the repository root. */
export const DOCS = [
  {
    path: '/docs',
    title: 'Quick start',
    group: 'Start',
    file: 'src/web/docs/content/quick-start.md',
  },
  guide('pagination', 'Lists and pagination'),
  guide('add', 'Add animals'),
  { path: '/docs/errors', title: 'Errors', group: 'Guides', file: 'docs/errors.md' },
  guide('web-site', 'Put the animals on a web site'),
  guide('idempotency', 'Retries and idempotency'),
  guide('authentication', 'Authentication'),
  guide('rate-limits', 'Rate limits'),
  guide('not-in-the-api', 'What the API does not do, and what to do instead'),
  guide('conditional-requests', 'Conditional requests'),
  guide('strict-handling', 'Strict handling'),
  reference('reference', 'API reference', 'src/web/docs/content/reference.md'),
  reference('clients', 'Clients in your language', 'docs/clients.md'),
  reference('deprecations', 'Deprecations', 'src/web/docs/content/deprecations.md'),
  reference('changelog', 'Changelog', 'CHANGELOG.md'),
  operation('running', 'Install, start and stop'),
  operation('access', 'Keys and other computers'),
  operation('catalogue', 'Import, export and the console'),
  operation('backup', 'Backup and restore'),
  operation('troubleshooting', 'Troubleshooting'),
  operation('monitoring', 'Monitoring and logs'),
  operation('postgresql', 'PostgreSQL and failover'),
  operation('settings', 'Settings and limits'),
] as const satisfies DocsPage[];

export interface DocsPage {
  path: string;
  title: string;
  group: string;
  file: string;
}

function guide(name: string, title: string): DocsPage {
  return { path: `/docs/${name}`, title, group: 'Guides', file: `src/web/docs/content/${name}.md` };
}

function reference(name: string, title: string, file: string): DocsPage {
  return { path: `/docs/${name}`, title, group: 'Reference', file };
}

/** For those who run the service. */
function operation(name: string, title: string): DocsPage {
  return { path: `/docs/${name}`, title, group: 'Run the service', file: `docs/${name}.md` };
}

/** The scripts of the pages, below the repository root. */
export const DOCS_MODULES = modulesFrom('src/web/docs/page/main.ts');
