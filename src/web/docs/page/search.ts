import { byId, element } from '../../console/page/dom.ts';

/** A page as the service lists it. */
interface IndexedPage {
  href: string;
  title: string;
  /** The text before its first section. */
  intro: string;
  sections: [id: string, title: string, text: string][];
}

/** A page, or a section of one. */
interface Entry {
  href: string;
  title: string;
  page: string;
  text: string;
}

const RESULTS_MAX = 8;
/** In characters: how long an excerpt is, and how much of it comes before the match. */
const EXCERPT = { before: 24, length: 96 };
const ROOT = document.body.dataset['root'] ?? '';

/** Searches headings and texts. The index is loaded when the reader begins to search. */
export function offerSearch(): void {
  const form = byId('search', HTMLFormElement);
  const input = byId('query', HTMLInputElement);
  const list = byId('results', HTMLUListElement);
  const found = byId('found', HTMLElement);
  let loading: Promise<Entry[]> | undefined;
  form.hidden = false;

  async function show(): Promise<void> {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const entries = words.length === 0 ? [] : await (loading ??= load());
    const results = search(entries, words);
    const isNothing = words.length > 0 && results.length === 0;
    list.replaceChildren(
      ...results.map((entry) => resultItem(entry, words)),
      ...(isNothing ? [element('li', { class: 'none' }, 'Nothing found')] : []),
    );
    list.hidden = words.length === 0;
    found.textContent = words.length === 0 ? '' : `${results.length} results`;
  }

  function close(): void {
    list.hidden = true;
  }

  document.addEventListener('keydown', (event) => {
    if (!isSearchKey(event)) return;
    event.preventDefault();
    input.focus();
  });
  input.addEventListener('input', () => void show());
  input.addEventListener('focus', () => void show());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    list.querySelector('a')?.click();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      // Otherwise the field would show the results again when it gets the focus.
      input.value = '';
      input.focus();
      void show();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      moveFocus([input, ...list.querySelectorAll('a')], step);
    }
  });
  form.addEventListener('focusout', (event) => {
    if (!form.contains(event.relatedTarget as Node | null)) close();
  });
  list.addEventListener('click', close);
}

async function load(): Promise<Entry[]> {
  const response = await fetch(`${ROOT}docs/search.json`);
  const pages = (await response.json()) as IndexedPage[];
  return pages.flatMap(({ href, title: page, intro, sections }) => [
    { href, title: page, page, text: intro },
    ...sections.map(([id, title, text]) => ({ href: `${href}#${id}`, title, page, text })),
  ]);
}

/** Ctrl-K (or Cmd-K), and a slash unless it is typed into a field. */
function isSearchKey({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (key === 'k') return ctrlKey || metaKey;
  const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select');
  return key === '/' && !ctrlKey && !metaKey && !altKey && !isTyping;
}

/** Every word must occur. Whole words of titles come first, then beginnings of titles, then parts. */
function search(entries: readonly Entry[], words: readonly string[]): Entry[] {
  return entries
    .map((entry) => ({ entry, rank: rank(entry, words) }))
    .filter(({ rank: value }) => value > 0)
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, RESULTS_MAX)
    .map(({ entry }) => entry);
}

function rank({ title, page, text }: Entry, words: readonly string[]): number {
  const [heading, name, rest] = [title.toLowerCase(), page.toLowerCase(), text.toLowerCase()];
  const ranks = words.map((word): number => {
    if (heading.split(/\W+/).includes(word)) return 16;
    if (heading.startsWith(word)) return 8;
    if (heading.includes(word)) return 4;
    if (rest.split(/[^\w-]+/).includes(word)) return 3;
    if (rest.includes(word)) return 2;
    return name.includes(word) ? 1 : 0;
  });
  return ranks.includes(0) ? 0 : ranks.reduce((sum, value) => sum + value, 0);
}

function resultItem({ href, title, page, text }: Entry, words: readonly string[]): HTMLElement {
  const where = title === page ? [] : [element('span', { class: 'small' }, page)];
  const name = element('span', {}, ...marked(title, words));
  const heading = element('span', { class: 'heading' }, name, ...where);
  const excerpt = element('span', { class: 'excerpt' }, ...marked(excerptOf(text, words), words));
  return element('li', {}, element('a', { href: ROOT + href }, heading, excerpt));
}

/** The text from shortly before the first match. The style sheet cuts it to one line. */
function excerptOf(text: string, words: readonly string[]): string {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const from = Math.max(0, (places[0] ?? 0) - EXCERPT.before);
  const start = from === 0 ? 0 : Math.min(text.indexOf(' ', from) + 1, places[0] ?? 0);
  return (start > 0 ? '…' : '') + text.slice(start, start + EXCERPT.length);
}

/** Marks every occurrence of the words. The parts are text, never markup. */
function marked(text: string, words: readonly string[]): (HTMLElement | string)[] {
  const pattern = words.map((word) => word.replaceAll(/\W/g, String.raw`\$&`)).join('|');
  return text
    .split(new RegExp(`(${pattern})`, 'i'))
    .map((part, index) => (index % 2 === 1 ? element('mark', {}, part) : part));
}

function moveFocus(places: HTMLElement[], step: number): void {
  const index = places.findIndex((place) => place === document.activeElement);
  places[(index + step + places.length) % places.length]?.focus();
}
