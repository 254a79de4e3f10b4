import type { Pet } from '../../../../sdk/src/index.ts';
import { byId, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';
import { explain, type Fault } from './fault.ts';
import { grouped } from './fields.ts';
import { LABELS, petName } from './pet.ts';

export const PRINTED_MAX = 5_000;
/** The count is updated after this many animals. */
const SHOWN_EVERY = 500;

/** What is printed: the animals of the filter from all pages, or those that were found. */
export interface Printed {
  title: string;
  pets: AsyncIterable<Pet> | Iterable<Pet>;
}

/** The button that prints the list: on paper it has a title, the date and the count, and no controls. */
export class Print {
  readonly #button = byId('print-list', HTMLButtonElement);
  readonly #told = byId('download-told', HTMLElement);
  readonly #sheet = byId('sheet', HTMLElement);
  readonly #printed: (signal: AbortSignal) => Printed;
  readonly #askForKey: (fault?: Fault) => void;
  #running: AbortController | undefined;

  constructor(
    printed: (signal: AbortSignal) => Printed,
    on: { keyNeeded: (fault?: Fault) => void },
  ) {
    this.#printed = printed;
    this.#askForKey = on.keyNeeded;
  }

  /** A press reads the list and prints it, or stops the one that is read. */
  listen(): void {
    addEventListener('afterprint', () => this.#sheet.replaceChildren());
    this.#button.addEventListener('click', () => {
      if (this.#running === undefined) void this.#run();
      else this.#running.abort();
    });
  }

  async #run(): Promise<void> {
    const { signal } = (this.#running = new AbortController());
    this.#button.textContent = 'Stop printing';
    this.#told.textContent = 'Reading the catalogue …';
    try {
      const { title, pets } = this.#printed(signal);
      const rows: HTMLElement[] = [];
      let hasMore = false;
      for await (const pet of pets) {
        hasMore = rows.length === PRINTED_MAX;
        if (hasMore) break;
        rows.push(sheetRow(pet));
        if (rows.length % SHOWN_EVERY === 0)
          this.#told.textContent = `${grouped(rows.length)} so far …`;
      }
      const count = countWords(rows.length, hasMore);
      this.#sheet.replaceChildren(...sheet(title, count, rows));
      this.#told.textContent = `Printing: ${count}`;
      print();
    } catch (error) {
      const fault = explain(error);
      this.#told.textContent = signal.aborted
        ? 'Stopped. Nothing is printed.'
        : `${fault.title}. Nothing is printed.`;
      if (fault.isKeyRefused) this.#askForKey(fault);
    }
    this.#running = undefined;
    this.#button.textContent = 'Print';
  }
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
