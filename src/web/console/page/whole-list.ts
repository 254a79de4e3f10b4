// What is read from all pages of the list: the paper, and the file.

import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { csvLine, guardFormula } from '../../../pet-file/csv.ts';
import { byId, element, isUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { counted } from './fields.ts';
import { LABELS, petName } from './pet.ts';
import type { Session } from './session.ts';

const PRINTED_MAX = 5_000;
export const SAVED_MAX = 100_000;
/** The count is updated after this many animals. */
const SHOWN_EVERY = 500;

type Say = (words: string) => void;
type KeyNeeded = (fault?: Fault) => void;

/** What is printed: the animals of the filter from all pages, or those that were found. */
export interface Printed {
  title: string;
  pets: AsyncIterable<Pet> | Iterable<Pet>;
  /** What to say of them instead of their number. */
  words?: string;
}

/** The button that prints the list: on paper it has a title, the date and the count, and no controls. */
export function offerPrint(printed: (signal: AbortSignal) => Printed, keyNeeded: KeyNeeded): void {
  const paper = byId('sheet', HTMLElement);
  const body = byId('sheet-rows', HTMLTableSectionElement);
  addEventListener('afterprint', () => {
    paper.hidden = true;
    body.replaceChildren();
  });
  const nothing = 'Nothing is printed.';
  readOnPress(
    { id: 'print-list', stop: 'Stop printing', nothing, keyNeeded },
    async (signal, say) => {
      const { title, pets, words } = printed(signal);
      const { read, hasMore } = await readPets(pets, PRINTED_MAX, say);
      const all = hasMore
        ? `The first ${counted(read.length)} of the list. There are more.`
        : `${counted(read.length)}.`;
      const now = new Date().toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short' });
      byId('sheet-title', HTMLElement).textContent = title;
      byId('sheet-words', HTMLElement).textContent = `${now}. ${words ?? all}`;
      body.replaceChildren(...read.map(sheetRow));
      paper.hidden = false;
      print();
      return `Printing: ${words ?? all}`;
    },
  );
}

function sheetRow({ id, name, categoryId, status }: Pet): HTMLElement {
  const cells = [String(id), petName(name), String(categoryId), LABELS[status]];
  return element('tr', {}, ...cells.map((content) => element('td', {}, content)));
}

/** The button that saves the animals of the filter as `petstore export --for-spreadsheet` writes them. */
export function offerDownload(
  session: Session,
  status: () => PetStatus | undefined,
  keyNeeded: KeyNeeded,
): void {
  const nothing = 'No file was saved.';
  readOnPress(
    { id: 'download', stop: 'Stop the download', nothing, keyNeeded },
    async (signal, say) => {
      const wanted = status();
      const pets = session.pets.list({ status: wanted, limit: 100, signal });
      const { read, hasMore } = await readPets(pets, SAVED_MAX, say);
      if (hasMore) {
        return `More than ${counted(SAVED_MAX)} are too many for a page. On the machine of the service, petstore export --for-spreadsheet writes all.`;
      }
      const lines = read.map((pet) =>
        csvLine([String(pet.id), guardFormula(pet.name), String(pet.categoryId), pet.status]),
      );
      saveCsv(`${wanted ?? 'all'}-animals.csv`, [
        csvLine(['id', 'name', 'categoryId', 'status']),
        ...lines,
      ]);
      return `Saved ${counted(read.length)}.`;
    },
  );
}

/** With it, spreadsheets read the file as UTF-8. `petstore import` and this page accept it. */
const BYTE_ORDER_MARK = '\uFEFF';

function saveCsv(name: string, lines: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, ...lines], { type: 'text/csv' }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

/** Reads at most so many animals, and says how far it is. */
export async function readPets(
  pets: AsyncIterable<Pet> | Iterable<Pet>,
  max: number,
  say: Say,
): Promise<{ read: Pet[]; hasMore: boolean }> {
  const read: Pet[] = [];
  for await (const pet of pets) {
    if (read.length === max) return { read, hasMore: true };
    read.push(pet);
    if (read.length % SHOWN_EVERY === 0) say(`${counted(read.length)} so far …`);
  }
  return { read, hasMore: false };
}

interface Reader {
  /** The id of the button, and what it says while it reads. */
  id: string;
  stop: string;
  /** What did not happen if it was stopped or has failed. */
  nothing: string;
  keyNeeded: KeyNeeded;
}

/** Makes a button that reads all pages of the list and says what became of it. A second press stops it. */
function readOnPress(
  { id, stop, nothing, keyNeeded }: Reader,
  run: (signal: AbortSignal, say: Say) => Promise<string>,
): void {
  const press = byId(id, HTMLButtonElement);
  const label = press.textContent;
  const told = byId('list-told', HTMLElement);
  const say: Say = (words) => void (told.textContent = words);
  let running: AbortController | undefined;
  const read = async (): Promise<void> => {
    const { signal } = (running = new AbortController());
    press.textContent = stop;
    say('Reading the catalogue …');
    try {
      say(await run(signal, say));
    } catch (error) {
      const fault = explain(error);
      say(`${signal.aborted ? 'Stopped' : fault.title}. ${nothing}`);
      if (fault.isKeyRefused) keyNeeded(fault);
    }
    running = undefined;
    press.textContent = label;
  };
  press.addEventListener('click', () => {
    if (running !== undefined) running.abort();
    else if (isUsable(press)) void read();
  });
}
