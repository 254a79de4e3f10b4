import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { csvLine, guardFormula } from '../../../pet-file/csv.ts';
import { element } from './dom.ts';
import { grouped } from './fields.ts';
import type { Session } from './session.ts';
import { readOnPress, type Reader } from './whole-list.ts';

const ANIMALS_MAX = 100_000;
const PAGE_SIZE = 100;
/** The count is updated after this many animals. */
const SHOWN_EVERY = 1_000;
const TOO_MANY = `More than ${count(ANIMALS_MAX)} are too many for a page. On the machine of the service, petstore export --for-spreadsheet writes all.`;

/** The button that saves the animals of the filter, from all pages, as `petstore export --for-spreadsheet` writes them. */
export function offerDownload(
  session: Session,
  on: Pick<Reader, 'keyNeeded'> & { status: () => PetStatus | undefined },
): void {
  readOnPress({
    id: 'download',
    stop: 'Stop the download',
    nothing: 'No file was saved.',
    keyNeeded: on.keyNeeded,
    run: async (signal, say) => {
      const status = on.status();
      const pets = session.pets.list({ status, limit: PAGE_SIZE, signal });
      const lines = await readLines(pets, (read) => say(`${count(read)} so far …`));
      if (lines === undefined) return TOO_MANY;
      const heading = csvLine(['id', 'name', 'categoryId', 'status']);
      saveCsv(`${status ?? 'all'}-animals.csv`, heading + lines.join(''));
      return `Saved ${count(lines.length)}.`;
    },
  });
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
