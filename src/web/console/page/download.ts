import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { csvLine, guardFormula } from '../../../pet-file/csv.ts';
import { byId, element } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { grouped } from './fields.ts';
import type { Session } from './session.ts';

const ANIMALS_MAX = 100_000;
const PAGE_SIZE = 100;
/** The count is updated after this many animals. */
const SHOWN_EVERY = 1_000;
const TOO_MANY = `More than ${count(ANIMALS_MAX)} are too many for a page. On the machine of the service, petstore export --for-spreadsheet writes all.`;

/** The button that saves the animals of the filter, from all pages, as `petstore export --for-spreadsheet` writes them. */
export class Download {
  readonly #session: Session;
  readonly #askForKey: (fault?: Fault) => void;
  readonly #button = byId('download', HTMLButtonElement);
  readonly #told = byId('download-told', HTMLElement);
  #running: AbortController | undefined;

  readonly #status: () => PetStatus | undefined;

  constructor(
    session: Session,
    on: { keyNeeded: (fault?: Fault) => void; status: () => PetStatus | undefined },
  ) {
    this.#session = session;
    this.#askForKey = on.keyNeeded;
    this.#status = on.status;
  }

  /** A press starts the download, or stops the one that runs. */
  listen(): void {
    this.#button.addEventListener('click', () => {
      if (this.#running === undefined) void this.#run(this.#status());
      else this.#running.abort();
    });
  }

  async #run(status: PetStatus | undefined): Promise<void> {
    const { signal } = (this.#running = new AbortController());
    this.#button.textContent = 'Stop the download';
    this.#say('Reading the catalogue …');
    try {
      const pets = this.#session.pets.list({ status, limit: PAGE_SIZE, signal });
      const lines = await readLines(pets, (read) => this.#say(`${count(read)} so far …`));
      if (lines !== undefined) {
        const heading = csvLine(['id', 'name', 'categoryId', 'status']);
        saveCsv(`${status ?? 'all'}-animals.csv`, heading + lines.join(''));
      }
      this.#say(lines === undefined ? TOO_MANY : `Saved ${count(lines.length)}.`);
    } catch (error) {
      this.#showFault(explain(error), signal.aborted);
    }
    this.#running = undefined;
    this.#button.textContent = 'Download CSV';
  }

  #showFault(fault: Fault, wasStopped: boolean): void {
    this.#say(wasStopped ? 'Stopped. No file was saved.' : `${fault.title}. No file was saved.`);
    if (fault.isKeyRefused) this.#askForKey(fault);
  }

  #say(words: string): void {
    this.#told.textContent = words;
  }
}

/** One line of CSV for each animal, or undefined if there are too many. */
export async function readLines(
  pets: AsyncIterable<Pet>,
  onCount: (read: number) => void,
): Promise<string[] | undefined> {
  const lines: string[] = [];
  for await (const pet of pets) {
    if (lines.length === ANIMALS_MAX) return undefined;
    const name = guardFormula(pet.name);
    lines.push(csvLine([String(pet.id), name, String(pet.categoryId), pet.status]));
    if (lines.length % SHOWN_EVERY === 0) onCount(lines.length);
  }
  return lines;
}

/** With it, spreadsheets read the file as UTF-8. `petstore import` and this page accept it. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Offers the text as a file. */
export function saveCsv(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, text], { type: 'text/csv' }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

function count(animals: number): string {
  return `${grouped(animals)} animal${animals === 1 ? '' : 's'}`;
}
