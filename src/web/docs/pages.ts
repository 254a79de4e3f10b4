import { contentPage, fileAsset, HTML_HEADERS } from '../assets.ts';
import type { Page } from '../../http/pages.ts';
import { DOCS, DOCS_MODULES, type DocumentedService } from './contents.ts';
import type { Site } from './site.ts';

const ROOT = new URL('../../../', import.meta.url);

/** The pages at /docs and their assets. They are rendered once, when the first of them is requested. */
export function docsPages(service: DocumentedService): [path: string, page: Page][] {
  let rendering: Promise<Site> | undefined;
  const site = () =>
    (rendering ??= import('./site.ts').then(({ renderSite }) => renderSite(service, ROOT)));
  return [
    ...DOCS.map(({ path }): [string, Page] => [
      path,
      contentPage('html', async () => (await site()).pages.get(path) ?? '', HTML_HEADERS),
    ]),
    // Relative, as every link, so that it also works behind a proxy that adds a path prefix.
    ['/docs/', () => ({ status: 308, headers: ['Location', '../docs'], body: '' })],
    ['/docs/search.json', contentPage('json', async () => (await site()).searchIndex)],
    ...DOCS_MODULES.map(fileAsset),
    fileAsset('src/web/docs/page/docs.css'),
  ];
}
