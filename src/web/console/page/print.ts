import type { Pet } from '../../../../sdk/src/index.ts';
import { byId, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';
import { grouped } from './fields.ts';
import { LABELS, petName } from './pet.ts';
import { readOnPress, type Reader } from './whole-list.ts';

const PRINTED_MAX = 5_000;
/** The count is updated after this many animals. */
const SHOWN_EVERY = 500;

/** What is printed: the animals of the filter from all pages, or those that were found. */
export interface Printed {
  title: string;
  pets: AsyncIterable<Pet> | Iterable<Pet>;
}

/** The button that prints the list: on paper it has a title, the date and the count, and no controls. */
export function offerPrint(
  printed: (signal: AbortSignal) => Printed,
  { keyNeeded }: Pick<Reader, 'keyNeeded'>,
): void {
  const paper = byId('sheet', HTMLElement);
  addEventListener('afterprint', () => paper.replaceChildren());
  readOnPress({
    id: 'print-list',
    stop: 'Stop printing',
    nothing: 'Nothing is printed.',
    keyNeeded,
    run: async (signal, say) => {
      const { title, pets } = printed(signal);
      const rows: HTMLElement[] = [];
      let hasMore = false;
      for await (const pet of pets) {
        hasMore = rows.length === PRINTED_MAX;
        if (hasMore) break;
        rows.push(sheetRow(pet));
        if (rows.length % SHOWN_EVERY === 0) say(`${grouped(rows.length)} so far …`);
      }
      const count = countWords(rows.length, hasMore);
      paper.replaceChildren(...sheet(title, count, rows));
      print();
      return `Printing: ${count}`;
    },
  });
}

function countWords(count: number, hasMore: boolean): string {
  const animals = count === 1 ? '1 animal' : `${grouped(count)} animals`;
  return hasMore ? `The first ${animals} of the list. There are more.` : `${animals}.`;
}

function sheet(title: string, count: string, rows: readonly HTMLElement[]): HTMLElement[] {
  const now = new Date().toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short' });
  const head = ['Id', 'Name', 'Category', 'Status'].map((name) =>
    element('th', { scope: 'col' }, name),
  );
  return [
    element('h1', {}, ENVIRONMENT === 'staging' ? `Staging · ${title}` : title),
    element('p', {}, `${now}. ${count}`),
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows),
    ),
  ];
}

function sheetRow({ id, name, categoryId, status }: Pet): HTMLElement {
  const cells = [String(id), petName(name), String(categoryId), LABELS[status]];
  return element('tr', {}, ...cells.map((content) => element('td', {}, content)));
}
