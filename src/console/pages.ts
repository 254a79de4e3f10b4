import type { Page } from '../http/message.ts';
import { assetPage, HTML_HEADERS, tighten, toJavaScript, type Asset } from './assets.ts';

/** The repository root. An asset has the URL /assets/ and its path below the root, so that imports work. */
const ROOT = new URL('../../', import.meta.url);
const PAGE_FOLDER = 'src/console/page';

/** Every module of the console. The HTML preloads them, so that the browser fetches them in parallel. */
export const CONSOLE_MODULES = [
  'add',
  'catalogue',
  'copy',
  'curl',
  'dom',
  'fault',
  'lookup',
  'main',
  'notice',
  'pet',
  'session',
  'stored-key',
].map((name) => `${PAGE_FOLDER}/${name}.ts`);
export const SDK_MODULES = ['client', 'error', 'index', 'json', 'link', 'request'].map(
  (name) => `sdk/src/${name}.ts`,
);

/** Created once: the files are the same for every service in this process. */
let made: [path: string, page: Page][] | undefined;

/** The console and its assets. */
export function consolePages(): [path: string, page: Page][] {
  made ??= newPages();
  return made;
}

function newPages(): [path: string, page: Page][] {
  const others = ['icon.svg', 'style.css'].map((name) => `${PAGE_FOLDER}/${name}`);
  return [
    [
      '/',
      assetPage({
        file: new URL(`${PAGE_FOLDER}/index.html`, ROOT),
        headers: HTML_HEADERS,
        edit: preloadModules,
      }),
    ],
    ...[...CONSOLE_MODULES, ...SDK_MODULES].map((file) => treeAsset(file, toJavaScript)),
    ...others.map((file) => treeAsset(file, tighten)),
  ];
}

function treeAsset(file: string, edit: NonNullable<Asset['edit']>): [path: string, page: Page] {
  return [`/assets/${file}`, assetPage({ file: new URL(file, ROOT), edit })];
}

function preloadModules(html: string): string {
  const links = [...CONSOLE_MODULES, ...SDK_MODULES].map(
    (file) => `<link rel="modulepreload" href="assets/${file}" />\n`,
  );
  return tighten(html).replace('</head>', `${links.join('')}</head>`);
}
