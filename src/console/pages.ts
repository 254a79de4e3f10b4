import type { Page } from '../http/message.ts';
import { assetPage, tighten, toJavaScript, type Asset } from './assets.ts';

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
].map((name) => `${PAGE_FOLDER}/${name}.ts`);
export const SDK_MODULES = ['client', 'error', 'index', 'json', 'link', 'request'].map(
  (name) => `sdk/src/${name}.ts`,
);

const COMMON_POLICY = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const STRICT_POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; ${COMMON_POLICY}`;
// The style sheet of Swagger UI has its arrows in data: URLs.
const REFERENCE_POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; ${COMMON_POLICY}`;

/** Created once: the files are the same for every service in this process. */
let made: [path: string, page: Page][] | undefined;

/** The console, the API reference, the page on deprecations, and their assets. */
export function consolePages(): [path: string, page: Page][] {
  made ??= newPages();
  return made;
}

function newPages(): [path: string, page: Page][] {
  const modules = [...CONSOLE_MODULES, ...SDK_MODULES, `${PAGE_FOLDER}/reference.ts`];
  const others = ['icon.svg', 'reference.css', 'style.css'].map((name) => `${PAGE_FOLDER}/${name}`);
  return [
    ['/', htmlPage('index.html', STRICT_POLICY, preloadModules)],
    ['/docs', htmlPage('reference.html', REFERENCE_POLICY)],
    ['/docs/deprecations', htmlPage('deprecations.html', STRICT_POLICY)],
    ...modules.map((file) => treeAsset(file, toJavaScript)),
    ...others.map((file) => treeAsset(file, tighten)),
    ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name): [string, Page] => [
      `/assets/${name}`,
      assetPage({ file: new URL(import.meta.resolve(`swagger-ui-dist/${name}`)) }),
    ]),
  ];
}

function treeAsset(file: string, edit: NonNullable<Asset['edit']>): [path: string, page: Page] {
  return [`/assets/${file}`, assetPage({ file: new URL(file, ROOT), edit })];
}

function htmlPage(name: string, policy: string, edit?: Asset['edit']): Page {
  const headers = [
    'Content-Security-Policy',
    policy,
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
  ];
  return assetPage({ file: new URL(`${PAGE_FOLDER}/${name}`, ROOT), headers, edit });
}

function preloadModules(html: string): string {
  const links = [...CONSOLE_MODULES, ...SDK_MODULES].map(
    (file) => `<link rel="modulepreload" href="assets/${file}" />\n`,
  );
  return tighten(html).replace('</head>', `${links.join('')}</head>`);
}
