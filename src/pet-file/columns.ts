import { parseInt64 } from '../domain/int64.ts';
import type { PetStatus } from '../domain/pet.ts';

/** The index of the column of each field; undefined for a table without a status. */
export type Columns = Record<'name' | 'categoryId', number> & { status: number | undefined };
export type Field = keyof Columns;

/** Columns that may still be unknown. */
export type ColumnGuess = Record<Field, number | undefined>;

const FIELDS = new Map<string, Field>([
  ['name', 'name'],
  ['categoryid', 'categoryId'],
  ['category', 'categoryId'],
  ['status', 'status'],
]);

/** The field that a heading, or the name of a field in JSON, means. Case, spaces, `_` and `-` do not matter. */
export function fieldOf(heading: string): Field | undefined {
  return FIELDS.get(heading.replaceAll(/[\s_-]/g, '').toLowerCase());
}

/** What people call the columns of their own tables. A heading is compared without accents, spaces and signs. */
const LIKELY_HEADINGS: Record<Field, RegExp> = {
  name: /name|^nom|nome$|naam|namn|navn|tier|animal|pet|bezeichnung|tit[el]{2}/,
  categoryId: /categ|kateg|^art|art$|gruppe|group|espec|species|^kat|^typ/,
  status: /status|statut|state|zustand|etat|estado|stato|verfugbar|availab|dispo/,
};
/** A column that only numbers the rows. */
const ROW_NUMBER = /^(id|nr|no|num|number|nummer|numero|pos|position|line|zeile|ligne|fila)$|^lfd/;
const NUMBER_OR_DATE = /^[\d\s.,:/€$£%+-]+$/;
/** A record, so that no status can be missing. Browsers load this file without the domain. */
const STATUSES: Record<PetStatus, true> = { available: true, pending: true, sold: true };

/** Whether the text of a cell can be the value of a field. */
const FITS: Record<Field, (cell: string) => boolean> = {
  name: (cell) => !NUMBER_OR_DATE.test(cell) && !FITS.status(cell),
  categoryId: (cell) => parseInt64(cell) !== undefined,
  status: (cell) => Object.hasOwn(STATUSES, cell.toLowerCase()),
};

/** Whether a first line names columns. No heading is an integer: a first line with a category is an animal. */
export function hasHeadings(first: readonly string[], categoryId: number | undefined): boolean {
  return parseInt64((first[categoryId ?? -1] ?? '').trim()) === undefined;
}

/**
 * Guesses which column is which from the headings and the cells of the first rows. A field for which no
 * column is likely stays undefined.
 */
export function guessColumns(rows: readonly (readonly string[])[]): ColumnGuess {
  const [headings = [], ...others] = rows;
  const guess: ColumnGuess = { name: undefined, categoryId: undefined, status: undefined };
  // The category comes first: it tells whether the first row has headings.
  for (const field of ['categoryId', 'status', 'name'] as const) {
    const isCell = others.length === 0 || !hasHeadings(headings, guess.categoryId);
    const cells = isCell ? rows : others;
    const scores = headings.map((heading, at) => {
      const column = cells.map((row) => (row[at] ?? '').trim());
      return Object.values(guess).includes(at) ? 0 : score(field, heading, column);
    });
    const best = Math.max(...scores);
    if (best > 0) guess[field] = scores.indexOf(best);
  }
  return guess;
}

/** How likely a column is that of a field; 0 if it is not. */
function score(field: Field, heading: string, cells: readonly string[]): number {
  const filled = cells.filter((cell) => cell !== '');
  const fitting = filled.filter((cell) => FITS[field](cell)).length;
  const share = filled.length === 0 ? 0 : fitting / filled.length;
  const letters = heading
    .normalize('NFD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
  const isNamed = LIKELY_HEADINGS[field].test(letters);
  // A status must be one of three words, so other words are not one, whatever the heading says.
  if (field === 'status' && share < 1) return 0;
  // Cells that do not fit are faults. With a fitting heading, the column is still chosen last: a person sees them.
  if (share <= 0.5) return isNamed ? 0.5 : 0;
  const isRowNumber = field === 'categoryId' && (ROW_NUMBER.test(letters) || isCounting(filled));
  return 1 + 4 * share + (fieldOf(heading) === field ? 6 : isNamed ? 3 : 0) - (isRowNumber ? 4 : 0);
}

function isCounting(cells: readonly string[]): boolean {
  return cells.length > 1 && cells.every((cell, at) => Number(cell) === Number(cells[0]) + at);
}

/** A field has one column, and a column one field. */
export function withChoice(guess: ColumnGuess, at: number, field: Field | undefined): ColumnGuess {
  const { name, categoryId, status } = guess;
  const kept = (each: Field, index: number | undefined) =>
    each === field ? at : index === at ? undefined : index;
  return {
    name: kept('name', name),
    categoryId: kept('categoryId', categoryId),
    status: kept('status', status),
  };
}

/** The columns, if those of name and category are known. */
export function completeColumns({ name, categoryId, status }: ColumnGuess): Columns | undefined {
  return name === undefined || categoryId === undefined ? undefined : { name, categoryId, status };
}
