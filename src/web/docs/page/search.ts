import { byId, element } from '../../console/page/dom.ts';
import { entriesOf, search, type Entry, type IndexedPage } from './rank.ts';

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
  return entriesOf((await response.json()) as IndexedPage[]);
}

/** Ctrl-K (or Cmd-K), and a slash unless it is typed into a field. */
function isSearchKey({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (key === 'k') return ctrlKey || metaKey;
  const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select');
  return key === '/' && !ctrlKey && !metaKey && !altKey && !isTyping;
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
