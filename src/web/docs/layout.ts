import { escapeHtml } from '../html.ts';
import type { Section } from './markdown.ts';
import { DOCS, DOCS_MODULES, type DocsPage } from './contents.ts';

interface Content {
  page: DocsPage;
  html: string;
  sections: readonly Section[];
  /** Leads from the page to the root of the site. */
  root: string;
  /** Whether the page has its samples in a column of its own. */
  isWide: boolean;
}

/** For readers who came by the search, and have read no other page. */
const COMMAND =
  '<p class="small"><code>petstore</code> is the command as it was installed. In a clone of the repository it is <code>./petstore</code>.</p>';

/** The whole page around its content. */
export function layout({ page, html, sections, root, isWide }: Content): string {
  const isForOperators = page.group === 'Run the service';
  const preloads = DOCS_MODULES.map(
    (file) => `<link rel="modulepreload" href="${root}assets/${file}">`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Pet Store docs</title>
<link rel="icon" href="${root}assets/src/web/console/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}assets/src/web/console/page/style.css">
<link rel="stylesheet" href="${root}assets/src/web/docs/page/docs.css">
<script type="module" src="${root}assets/src/web/docs/page/main.ts"></script>
${preloads.join('\n')}
</head>
<body data-root="${root}">
<a class="skip" href="#main">Skip to the content</a>
${header(root)}
<div class="docs">
${contents(page, sections, root)}
<main id="main" tabindex="-1" class="${isWide ? 'wide' : isForOperators ? 'breaks' : ''}">
<article>
<h1>${page.title}</h1>
${isForOperators ? COMMAND : ''}${html}</article>
${turn(page, root)}
</main>
</div>
${keyPanel()}
</body>
</html>
`;
}

/** Search and key stay hidden until a script shows them. */
function header(root: string): string {
  return `<header class="bar">
<a class="brand" href="${root || './'}"><img src="${root}assets/src/web/console/page/icon.svg" alt="" width="28" height="28">Pet Store</a>
<nav aria-label="Site"><a href="${root || './'}">Console</a><a href="${root}docs" aria-current="true">Docs</a></nav>
<form id="search" role="search" autocomplete="off" hidden>
<label class="hidden" for="query">Search the docs</label>
<input id="query" type="search" placeholder="Search" aria-keyshortcuts="/ Control+K" spellcheck="false" aria-controls="results">
<kbd aria-hidden="true">/</kbd>
<p id="found" class="hidden" role="status"></p>
<ul id="results" hidden></ul>
</form>
<button id="key-button" type="button" popovertarget="key-panel" hidden>Use a key</button>
<button id="key-copy" type="button" hidden>Copy the key</button>
<button id="menu" type="button" popovertarget="contents">Contents</button>
</header>`;
}

/** All pages, and the sections of this one. On a narrow screen the button "Contents" opens it. */
function contents(page: DocsPage, sections: readonly Section[], root: string): string {
  const groups = [...Map.groupBy(DOCS, ({ group }) => group)].map(([group, pages]) => {
    const items = pages.map(({ path, title }) => {
      const isHere = path === page.path;
      const link = `<a href="${root}${path.slice(1)}"${isHere ? ' aria-current="page"' : ''}>${title}</a>`;
      return `<li>${link}${isHere ? tableOfContents(sections) : ''}</li>`;
    });
    return `<p>${group}</p><ul>${items.join('')}</ul>`;
  });
  return `<nav id="contents" popover aria-label="Contents">${groups.join('')}</nav>`;
}

function tableOfContents(sections: readonly Section[]): string {
  const items = sections
    .filter(({ depth }) => depth === 2)
    .map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`);
  return `<ul>${items.join('')}</ul>`;
}

function turn(page: DocsPage, root: string): string {
  const index = DOCS.findIndex(({ path }) => path === page.path);
  const link = (to: DocsPage | undefined, label: string, rel: string) =>
    to === undefined
      ? ''
      : `<a rel="${rel}" href="${root}${to.path.slice(1)}"><span>${label}</span> ${to.title}</a>`;
  return `<nav class="turn" aria-label="Previous and next page">${link(DOCS[index - 1], 'Previous', 'prev')}${link(DOCS[index + 1], 'Next', 'next')}</nav>`;
}

function keyPanel(): string {
  return `<div id="key-panel" popover role="dialog" aria-label="API key">
<form id="key-form" autocomplete="off">
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-help key-fault">
<p id="key-fault" class="field-fault" role="alert"></p>
<p id="key-help" class="small">It stays in this tab, for these pages and the console. It is gone when you close the tab.</p>
<div class="actions"><button class="primary">Use this key</button><button id="key-forget" type="button">Forget it</button></div>
</form>
</div>`;
}
