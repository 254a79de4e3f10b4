import { KEY_PREFIX } from '../../domain/key-form.ts';
import { IDEMPOTENCY_KEY_LENGTH_MAX } from '../../domain/idempotency.ts';
import { CURSOR_LENGTH_MAX, LIMIT_DEFAULT, LIMIT_MAX, LIMIT_MIN } from '../../domain/page.ts';
import { GET_PET_DEPRECATION } from '../../http/pets.ts';
import { operations } from '../../http/operations.ts';
import { siteOf } from '../../http/target.ts';
import { readProgramFile } from '../../ops/installation.ts';
import { layout } from './layout.ts';
import { Markdown } from './markdown.ts';
import { DOCS, type DocumentedService } from './contents.ts';
import { renderReference } from './reference.ts';

export interface Site {
  pages: ReadonlyMap<string, string>;
  /** JSON: the sections of all pages. */
  searchIndex: string;
}

/** Renders every page. Their number and size are fixed, so they are all kept in memory. */
export async function renderSite(service: DocumentedService, repository: URL): Promise<Site> {
  const read = (file: string) => readProgramFile(new URL(file, repository));
  const samples = await Promise.all(
    operations.map(async ({ id }) => [id, read(`src/web/docs/content/operations/${id}.md`)]),
  );
  const operationTexts: Readonly<Record<string, string>> = Object.fromEntries(samples);
  const values = valuesOf(service, operationTexts);
  const { baseUrl, linkBase } = service;
  const site = siteOf(baseUrl);
  /** Marks the address where it is not configured: a script then shows that of the browser's bar. */
  const markSite = (html: string) =>
    linkBase === baseUrl ? html : html.replaceAll(site, `<span class="site">${site}</span>`);
  const pages = new Map<string, string>();
  const index: object[] = [];
  for (const page of DOCS) {
    // Links are relative, so that they also work behind a proxy that adds a path prefix.
    const root = page.path === '/docs' ? '' : '../';
    const markdown = new Markdown(root, values);
    const source = read(page.file).replaceAll('http://127.0.0.1:8080', site);
    const isReference = page.path === '/docs/reference';
    const { html, intro, sections } = isReference
      ? renderReference(markdown, { source, operationTexts, linkBase })
      : markdown.render(source);
    pages.set(
      page.path,
      layout({ page, html: markSite(html), sections, root, isWide: isReference }),
    );
    // The changelog names everything, and would be among the results of every search.
    const isIndexed = page.path !== '/docs/changelog';
    index.push({
      href: page.path.slice(1),
      title: page.title,
      intro,
      sections: sections.map(({ id, title, text }) => [id, title, isIndexed ? text : '']),
    });
  }
  const searchIndex = JSON.stringify(index);
  return {
    pages,
    searchIndex: linkBase === baseUrl ? searchIndex : searchIndex.replaceAll(site, ''),
  };
}

/** The values that replace {{name}} in the texts. */
function valuesOf(
  { baseUrl, linkBase, environment, rateLimit }: DocumentedService,
  operationTexts: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const values: Record<string, string> = {
    base_url: baseUrl,
    site: siteOf(baseUrl),
    link_base: linkBase,
    link_site: siteOf(linkBase),
    environment,
    key_prefix: KEY_PREFIX[environment],
    env_flag: environment === 'production' ? '' : ` --env ${environment}`,
    limit_min: String(LIMIT_MIN),
    limit_max: String(LIMIT_MAX),
    limit_default: String(LIMIT_DEFAULT),
    cursor_length_max: String(CURSOR_LENGTH_MAX),
    idempotency_key_length_max: String(IDEMPOTENCY_KEY_LENGTH_MAX),
    deprecated_since: longDate(GET_PET_DEPRECATION.since),
    deprecated_since_seconds: String(GET_PET_DEPRECATION.since.getTime() / 1000),
    removed_on: longDate(GET_PET_DEPRECATION.removedAt),
    sunset: GET_PET_DEPRECATION.removedAt.toUTCString(),
    rate_limit:
      rateLimit === undefined
        ? 'This service has no rate limit.'
        : `This service allows **${rateLimit.requests} requests in ${rateLimit.windowSeconds} seconds** for each API key.`,
  };
  for (const [id, text] of Object.entries(operationTexts)) {
    values[`samples ${id}`] = text.slice(text.indexOf('```')).replaceAll('{{base_url}}', baseUrl);
  }
  return values;
}

function longDate(date: Date): string {
  return date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
}
