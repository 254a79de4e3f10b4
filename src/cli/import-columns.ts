import { hasHeadings, type Columns, type Field } from '../pet-file/columns.ts';
import { PetFileError, shownHeading, type TableSample } from '../pet-file/layout.ts';
import { printable } from '../domain/printable.ts';
import { shellQuoted } from './program-name.ts';
import { renderTable } from './terminal.ts';

const FIELDS_BY_WORD = {
  name: 'name',
  category: 'categoryId',
  categoryId: 'categoryId',
  status: 'status',
} as const satisfies Record<string, Field>;
const WORDS: Record<Field, string> = { name: 'name', categoryId: 'category', status: 'status' };
/** A heading may contain commas: only a comma before the name of a field ends it. */
const START = /(?:^|,)\s*(name|category|categoryId|status)=/;

const COLUMNS_SHOWN_MAX = 20;
const CELLS_SHOWN_MAX = 3;
const CELL_LENGTH_MAX = 20;

/** The heading or number of the column of each field. */
export type WantedColumns = ReadonlyMap<Field, string>;

/** The option that says which column is which. */
export const COLUMNS_OPTION = {
  value: 'FIELD=COLUMN,…',
  description: 'which column is which, by heading or number',
  parse: parseColumns,
  mustBe: 'such as name=Tier,category=Art-Nr.,status=3, with a name and a category',
};

function parseColumns(text: string): WantedColumns | undefined {
  const starts = [...text.matchAll(new RegExp(START, 'g'))];
  const wanted = new Map<Field, string>();
  for (const [at, { 0: start, 1: word, index }] of starts.entries()) {
    const column = text.slice(index + start.length, starts[at + 1]?.index).trim();
    const field = FIELDS_BY_WORD[word as keyof typeof FIELDS_BY_WORD];
    if (column === '' || wanted.has(field)) return undefined;
    wanted.set(field, column);
  }
  const isComplete = starts[0]?.index === 0 && wanted.has('name') && wanted.has('categoryId');
  return isComplete ? wanted : undefined;
}

/** Finds the wanted columns. Throws a PetFileError that lists those of the file. */
export function chooseColumns(wanted: WantedColumns, { rows: [headings = []] }: TableSample) {
  const found = Array.from(wanted, ([field, column]) => {
    return [field, columnAt(column, headings)] as const;
  });
  const places = found.map(([, at]) => at);
  if (new Set(places).size < places.length) {
    throw new PetFileError('--columns names one column for two fields: each has its own.');
  }
  return { status: undefined, ...Object.fromEntries(found) } as Columns;
}

function columnAt(wanted: string, headings: readonly string[]): number {
  const same = [...headings.keys()].filter((at) => plain(headings[at] ?? '') === plain(wanted));
  const [first, second] = same;
  if (first !== undefined && second === undefined) return first;
  const number = /^\d{1,3}$/.test(wanted) ? Number(wanted) : 0;
  if (first === undefined && number >= 1 && number <= headings.length) return number - 1;
  const what = first === undefined ? 'No column is' : 'Several columns are';
  const columns = headings
    .slice(0, COLUMNS_SHOWN_MAX)
    .map((heading, at) => `${at + 1} ${shownHeading(heading)}`);
  throw new PetFileError(
    `${what} called ${shownHeading(wanted)}: give its number, or one of the headings ${columns.join(', ')}.`,
  );
}

/** The form in which headings are compared: an accent may be a separate code point. */
function plain(heading: string): string {
  return heading.trim().normalize('NFC');
}

/**
 * What a person needs to give `--columns`: the columns with their first cells, as a table, and the option as it
 * is guessed.
 */
export function columnsAdvice({ rows, guess }: TableSample): string[] {
  const [headings = [], ...others] = rows;
  const columns = headings.slice(0, COLUMNS_SHOWN_MAX).map((heading, at) => {
    const cells = others.slice(0, CELLS_SHOWN_MAX).map((row) => shortened(row[at] ?? ''));
    const texts = [shownHeading(heading), ...(cells.length > 0 ? [cells.join(' | ')] : [])];
    return [`  ${at + 1}`, ...texts.map(printable)];
  });
  const rest = headings.length - COLUMNS_SHOWN_MAX;
  const isComplete = guess.name !== undefined && guess.categoryId !== undefined;
  const option = isComplete ? guessedOption(headings, guess) : 'name=1,category=2';
  return [
    'Its columns, with their first cells:',
    ...renderTable(columns).trimEnd().split('\n'),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    isComplete
      ? 'If this is right, add it to the command; a column has its heading or its number:'
      : 'Say which column is which, by heading or number, for example:',
    `  --columns ${shellQuoted(option)}`,
  ];
}

function shortened(cell: string): string {
  return cell.length > CELL_LENGTH_MAX ? `${cell.slice(0, CELL_LENGTH_MAX)}…` : cell;
}

function guessedOption(headings: readonly string[], guess: TableSample['guess']): string {
  const isNaming = hasHeadings(headings, guess.categoryId);
  const parts = (['name', 'categoryId', 'status'] as const).flatMap((field) => {
    const at = guess[field];
    return at === undefined
      ? []
      : [`${WORDS[field]}=${isNaming ? columnName(at, headings) : at + 1}`];
  });
  return parts.join(',');
}

/** The heading if it is unique and can be typed, otherwise the number. */
function columnName(at: number, headings: readonly string[]): string {
  const heading = plain(headings[at] ?? '');
  const isUnique = headings.filter((each) => plain(each) === heading).length === 1;
  const isTypable = /^[^\p{C}\p{Zl}\p{Zp}]{1,40}$/u.test(heading) && !/^\d+$/.test(heading);
  return isUnique && isTypable && !START.test(heading) ? heading : String(at + 1);
}
