import { KEY_PREFIX, type Environment } from '../../domain/api-key.ts';
import type { Page } from '../../http/pages.ts';
import { assetPage, fileAsset, HTML_HEADERS } from '../assets.ts';

const PAGE_FOLDER = 'src/web/console/page';

/** The modules of the first view, the key form. The HTML preloads them. */
export const FIRST_MODULES = ['dom', 'environment', 'main', 'stored-key'].map(inPageFolder);

/** The modules of the workspace. The page preloads them when there is a key. */
export const WORKSPACE_MODULES = [
  ...[
    'add',
    'catalogue',
    'copy',
    'curl',
    'empty',
    'fault',
    'fields',
    'just-added',
    'notice',
    'pet',
    'place',
    'session',
    'workspace',
  ].map(inPageFolder),
  ...['client', 'error', 'index', 'json', 'link', 'request'].map((name) => `sdk/src/${name}.ts`),
  'src/domain/printable.ts',
];

/** The modules that are loaded when the workspace is open, or when many are added at once. */
export const LATER_MODULES = [
  ...[
    'animal',
    'bulk',
    'download',
    'line-key',
    'lookup',
    'many',
    'many-columns',
    'many-input',
    'many-preview',
    'many-report',
    'many-rows',
    'parts',
    'pet-rules',
    'seen-lines',
    'sha256',
  ].map(inPageFolder),
  ...['columns', 'csv', 'encoding', 'layout', 'pet-reader', 'read-pet', 'records'].map(
    (name) => `src/pet-file/${name}.ts`,
  ),
  ...['errors', 'int64'].map((name) => `src/domain/${name}.ts`),
];

/** Created once per environment: otherwise the files are the same for every service in this process. */
const made = new Map<Environment, [path: string, page: Page][]>();

/** The console and its assets. */
export function consolePages(environment: Environment): [path: string, page: Page][] {
  const pages = made.get(environment) ?? newPages(environment);
  made.set(environment, pages);
  return pages;
}

function newPages(environment: Environment): [path: string, page: Page][] {
  const modules = [...FIRST_MODULES, ...WORKSPACE_MODULES, ...LATER_MODULES];
  return [
    [
      '/',
      assetPage({
        file: `${PAGE_FOLDER}/index.html`,
        headers: HTML_HEADERS,
        edit: (html) => preloadModules(fillTemplate(html, environment)),
      }),
    ],
    ...modules.map(fileAsset),
    ...['parts.css', 'style.css', 'icon.svg'].map((name) => fileAsset(`${PAGE_FOLDER}/${name}`)),
  ];
}

/** A browser ignores the links with the relation "later" until the page changes it. */
function preloadModules(html: string): string {
  const links = [
    ...FIRST_MODULES.map((file) => `<link rel="modulepreload" href="assets/${file}" />\n`),
    ...WORKSPACE_MODULES.map((file) => `<link rel="later" href="assets/${file}" />\n`),
  ];
  return html.replace('</head>', `${links.join('')}</head>`);
}

/** What the page says about its environment. Staging is marked, so that nobody takes it for production. */
const ENVIRONMENT_WORDS: Record<Environment, Readonly<Record<string, string>>> = {
  production: { title: '', band: '', label: 'Production', flag: '' },
  staging: {
    title: 'Staging · ',
    band: '<aside class="band" aria-label="Environment"><b>Staging</b> For trying things out.</aside>',
    label: 'Staging',
    flag: ' <span>--env staging</span>',
  },
};

/** Replaces each {{name}} of the page by its value. An unknown name is a mistake in the page. */
function fillTemplate(html: string, environment: Environment): string {
  const words = ENVIRONMENT_WORDS[environment];
  const values: typeof words = { ...words, environment, prefix: KEY_PREFIX[environment] };
  return html.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The page names an unknown value: ${name}`);
    return value;
  });
}

function inPageFolder(name: string): string {
  return `${PAGE_FOLDER}/${name}.ts`;
}
