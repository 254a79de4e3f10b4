// What the search of /docs finds, and in which order.

/** A page as the service lists it. */
export interface IndexedPage {
  href: string;
  title: string;
  /** The text before its first section. */
  intro: string;
  sections: [id: string, title: string, text: string][];
}

/** A page, or a section of one. */
export interface Entry {
  href: string;
  title: string;
  page: string;
  text: string;
}

const RESULTS_MAX = 8;

/** The pages and their sections. */
export function entriesOf(pages: readonly IndexedPage[]): Entry[] {
  return pages.flatMap(({ href, title: page, intro, sections }) => [
    { href, title: page, page, text: intro },
    ...sections.map(([id, title, text]) => ({ href: `${href}#${id}`, title, page, text })),
  ]);
}

/** Every word must occur. Whole words of titles come first, pages before sections, then beginnings of titles, then parts. */
export function search(entries: readonly Entry[], words: readonly string[]): Entry[] {
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
    if (heading.split(/\W+/).includes(word)) return title === page ? 17 : 16;
    if (heading.startsWith(word)) return 8;
    if (heading.includes(word)) return 4;
    if (rest.split(/[^\w-]+/).includes(word)) return 3;
    if (rest.includes(word)) return 2;
    return name.includes(word) ? 1 : 0;
  });
  return ranks.includes(0) ? 0 : ranks.reduce((sum, value) => sum + value, 0);
}
