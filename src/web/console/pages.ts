import { KEY_PREFIX, type Environment } from '../../domain/key-form.ts';
import type { Page } from '../../http/pages.ts';
import { assetPage, fileAsset, HTML_HEADERS, modulesFrom } from '../assets.ts';

const PAGE_FOLDER = 'src/web/console/page';

/** All modules of the console. */
export const CONSOLE_MODULES = modulesFrom(`${PAGE_FOLDER}/main.ts`);

/** Created once per environment: otherwise the files are the same for every service in this process. */
const made = new Map<Environment, [path: string, page: Page][]>();

/** The console and its assets. */
export function consolePages(environment: Environment): [path: string, page: Page][] {
  const pages = made.get(environment) ?? newPages(environment);
  made.set(environment, pages);
  return pages;
}

function newPages(environment: Environment): [path: string, page: Page][] {
  return [
    [
      '/',
      assetPage({
        file: `${PAGE_FOLDER}/index.html`,
        headers: HTML_HEADERS,
        edit: (html) => preloadModules(fillTemplate(html, environment)),
      }),
    ],
    ...CONSOLE_MODULES.map(fileAsset),
    ...['parts.css', 'style.css', 'icon.svg'].map((name) => fileAsset(`${PAGE_FOLDER}/${name}`)),
  ];
}

function preloadModules(html: string): string {
  const links = CONSOLE_MODULES.map(
    (file) => `<link rel="modulepreload" href="assets/${file}" />\n`,
  );
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
