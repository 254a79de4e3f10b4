import { shownNames } from '../domain/errors.ts';
import {
  completeColumns,
  fieldOf,
  guessColumns,
  hasHeadings,
  type ColumnGuess,
  type Columns,
} from './columns.ts';
import { csvFieldsOrUndefined, findCsvRecordEnd, SEPARATORS, type Separator } from './csv.ts';
import { notUtf8, RECORD_BYTES_MAX } from './records.ts';

export type PetFormat = 'ndjson' | 'csv' | 'json';

/** How a file is written: one JSON object per line, a table whose first line names its columns, or a JSON array. */
export type Layout = { format: 'ndjson' } | TableLayout | { format: 'json' };

export interface TableLayout {
  format: 'csv';
  separator: Separator;
  /** The cells of the first line. */
  headings: readonly string[];
  /** Whether the first line names the columns. Without headings it is an animal. */
  hasHeadings: boolean;
  columns: Columns;
  /** Whether a person chose the columns: the headings alone do not say which is which. */
  isChosen: boolean;
}

/** The first lines of a table, and which column may be which. */
export interface TableSample {
  separator: Separator;
  /** The cells of the first lines. A line may have more or fewer than the first. */
  rows: readonly (readonly string[])[];
  guess: ColumnGuess;
}

/** The file as a whole cannot be read, so that no animal of it can be added. The message is one sentence. */
export class PetFileError extends Error {
  override readonly name: string = 'PetFileError';
}

/** The headings do not say which column is which. A person can. */
export class UnknownColumns extends PetFileError {
  override readonly name = 'UnknownColumns';
  readonly sample: TableSample;

  constructor(message: string, sample: TableSample) {
    super(message);
    this.sample = sample;
  }
}

/** Chooses the columns of a table whose headings do not name them. */
export type ChooseColumns = (sample: TableSample) => Columns;

/** What people call the separators, in the singular. */
const SEPARATOR_WORDS: Record<Separator, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

/** The layout of a file is found from this many bytes at its start. */
export const LAYOUT_BYTES = RECORD_BYTES_MAX + 1;

/** Of a table whose columns a person must choose. */
const COLUMNS_MAX = 100;
const SAMPLE_ROWS_MAX = 20;
const FIELD_NAMES = ['name', 'categoryId', 'status'] as const;
const HEADING_LENGTH_MAX = 40;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;
const LINE_BREAKS = [0x0d, 0x0a];
const BLANKS = [...LINE_BREAKS, 0x20, 0x09];
const [OBJECT_START, ARRAY_START] = [0x7b, 0x5b];

/** Quotes a heading for a message. */
export function shownHeading(heading: string): string {
  const text = heading.trim();
  return `"${text.length > HEADING_LENGTH_MAX ? `${text.slice(0, HEADING_LENGTH_MAX)}…` : text}"`;
}

/**
 * Finds out how a file is written from its first `LAYOUT_BYTES`, unless its format is given or the columns of
 * a table are chosen. Throws a PetFileError if they begin with neither JSON nor a table.
 */
export function detectLayout(
  start: Uint8Array,
  { format, choose }: { format?: PetFormat | undefined; choose?: ChooseColumns | undefined } = {},
): Layout {
  const text = withoutMark(start);
  const first = text.find((byte) => !BLANKS.includes(byte));
  // A file without animals may have any format.
  if (first === undefined) return { format: 'ndjson' };
  const begun = first === ARRAY_START ? 'json' : first === OBJECT_START ? 'ndjson' : 'csv';
  const found = choose === undefined ? (format ?? begun) : 'csv';
  return found === 'csv' ? readTable(text, choose) : { format: found };
}

function withoutMark(start: Uint8Array): Uint8Array {
  const hasMark = BYTE_ORDER_MARK.every((byte, at) => start[at] === byte);
  return start.subarray(hasMark ? BYTE_ORDER_MARK.length : 0);
}

/** What a person should know about the layout: in the preview of a page and for `--dry-run`. */
export function layoutWords(layout: Layout): string {
  if (layout.format === 'json') return 'A JSON array.';
  if (layout.format === 'ndjson') return 'One JSON object per line.';
  const { separator, headings, hasHeadings: isNaming, columns } = layout;
  const used = Object.entries(columns).flatMap(([field, at]) => {
    const heading = headings[at ?? -1];
    if (at === undefined || heading === undefined) return [];
    const word = field === 'categoryId' ? 'category' : field;
    const from = isNaming && heading.trim() !== '' ? shownHeading(heading) : `column ${at + 1}`;
    return [`${word} from ${from}`];
  });
  const isUsed = (at: number) => Object.values(columns).includes(at);
  const unused = headings.filter((heading, at) => isNaming && !isUsed(at) && heading !== '');
  const words = `A table separated by ${SEPARATOR_WORDS[separator]}s: ${used.join(', ')}.`;
  return unused.length === 0 ? words : `${words} Not used: ${shownNames(unused)}.`;
}

/** Takes the columns that the headings name, or those that are chosen. */
function readTable(text: Uint8Array, choose: ChooseColumns | undefined): TableLayout {
  // An empty line is not a record, so the table may follow some.
  const bytes = text.subarray(text.findIndex((byte) => !LINE_BREAKS.includes(byte)));
  const named = readHeadings(bytes);
  if (choose === undefined) {
    if (named instanceof PetFileError) throw named;
    return named;
  }
  const sample = sampleOf(bytes);
  const columns = choose(sample);
  const isNamed =
    !(named instanceof PetFileError) &&
    FIELD_NAMES.every((field) => named.columns[field] === columns[field]) &&
    named.separator === sample.separator;
  if (isNamed) return named;
  const {
    separator,
    rows: [headings = []],
  } = sample;
  const isNaming = hasHeadings(headings, columns.categoryId);
  return { format: 'csv', separator, headings, hasHeadings: isNaming, columns, isChosen: true };
}

/** Reads the first line with each separator, and takes the one that finds the most fields. */
function readHeadings(bytes: Uint8Array): TableLayout | PetFileError {
  const readings = SEPARATORS.map((separator) => {
    const headings = headingsOf(bytes, separator) ?? [];
    return { separator, headings, found: headings.filter((each) => fieldOf(each) !== undefined) };
  });
  const [best] = readings.toSorted((a, b) => b.found.length - a.found.length);
  if (best === undefined || readings.every(({ headings }) => headings.length === 0)) {
    return new PetFileError(
      'The first line must name its columns: it has quotes in the wrong place.',
    );
  }
  const { separator, headings } = best;
  const mixed = findMixed(separator, headings);
  if (mixed !== undefined) return unknownColumns(mixedWords(separator, mixed), bytes);
  const found = FIELD_NAMES.map((field) =>
    [...headings.keys()].filter((at) => fieldOf(headings[at] ?? '') === field),
  );
  const twice = found.findIndex((columns) => columns.length > 1);
  if (twice !== -1) {
    const [first = '', second = ''] = (found[twice] ?? []).map((at) => headings[at]);
    return unknownColumns(
      `The first line has two columns for ${FIELD_NAMES[twice]}, ${shownHeading(first)} and ${shownHeading(second)}: only one may be there.`,
      bytes,
    );
  }
  const [[name] = [], [categoryId] = [], [status] = []] = found;
  if (name !== undefined && categoryId !== undefined) {
    const columns = { name, categoryId, status };
    return { format: 'csv', separator, headings, hasHeadings: true, columns, isChosen: false };
  }
  const missing = name === undefined ? 'name' : 'categoryId or category';
  return unknownColumns(
    `The first line must name its columns, including name and categoryId, separated by commas, semicolons or tabs: none is called ${missing}.`,
    bytes,
  );
}

/** A table of one column has no name or no category, whichever it is. */
function unknownColumns(message: string, bytes: Uint8Array): PetFileError {
  const sample = sampleOf(bytes);
  return (sample.rows[0] ?? []).length > 1
    ? new UnknownColumns(message, sample)
    : new PetFileError(message);
}

/** The first lines of a table from the start of its file, for a person who chooses the columns. */
export function sampleTable(start: Uint8Array): TableSample {
  const text = withoutMark(start);
  return sampleOf(text.subarray(text.findIndex((byte) => !LINE_BREAKS.includes(byte))));
}

/** Takes the separator whose columns are best known, then the one that gives every line as many cells. */
function sampleOf(bytes: Uint8Array): TableSample {
  const samples = SEPARATORS.map((separator) => {
    const rows = sampleRows(bytes, separator);
    const [headings = []] = rows;
    const guess = guessColumns(headings.length > COLUMNS_MAX ? [] : rows);
    const marks = [
      headings.filter((each) => fieldOf(each) !== undefined).length,
      completeColumns(guess) === undefined ? 0 : 1,
      rows.every((row) => row.length === headings.length) ? 1 : 0,
      headings.length,
    ];
    return { sample: { separator, rows, guess }, marks };
  });
  const [best] = samples.toSorted((a, b) => {
    const at = a.marks.findIndex((mark, index) => mark !== b.marks[index]);
    return (b.marks[at] ?? 0) - (a.marks[at] ?? 0);
  });
  const sample = best?.sample ?? { separator: ',', rows: [], guess: guessColumns([]) };
  if ((sample.rows[0] ?? []).length > COLUMNS_MAX) {
    throw new PetFileError(
      `The table has over ${COLUMNS_MAX} columns, and its first line does not name those of name and categoryId.`,
    );
  }
  return sample;
}

function sampleRows(bytes: Uint8Array, separator: Separator): string[][] {
  const rows: string[][] = [];
  let rest = bytes;
  while (rows.length < SAMPLE_ROWS_MAX && rest.length > 0) {
    const { outcome, at } = findCsvRecordEnd(rest, separator);
    // The last record of the first bytes of a long file may be incomplete.
    const isWhole =
      outcome === 'complete' || (outcome === 'unended' && bytes.length < LAYOUT_BYTES);
    if (!isWhole) break;
    const end = outcome === 'complete' ? at : rest.length;
    const text = new TextDecoder().decode(rest.subarray(0, end)).replace(/\r$/, '');
    const cells = csvFieldsOrUndefined(text, separator) ?? [];
    if (cells.some((cell) => cell !== '')) rows.push(cells);
    rest = rest.subarray(end + 1);
  }
  return rows;
}

function headingsOf(bytes: Uint8Array, separator: Separator): string[] | undefined {
  const { outcome, at } = findCsvRecordEnd(bytes, separator);
  if (outcome === 'open' || outcome === 'faulty') return undefined;
  const header = bytes.subarray(0, outcome === 'complete' ? at : undefined);
  if (header.length > RECORD_BYTES_MAX) {
    throw new PetFileError(
      `The first line must name its columns: it is over ${RECORD_BYTES_MAX} bytes long.`,
    );
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(header);
    return csvFieldsOrUndefined(text.replace(/\r$/, ''), separator);
  } catch {
    throw new PetFileError(`The first line ${notUtf8(header)}`);
  }
}

/** A heading such as `status;colour` between commas would be ignored, and its column with it. */
function findMixed(separator: Separator, headings: readonly string[]): string | undefined {
  return headings.find((heading) => {
    // The separator of the table itself is in a heading only between quotes.
    const parts = heading.replaceAll(separator, ' ').split(/[,;\t]/);
    return parts.length > 1 && parts.some((part) => fieldOf(part) !== undefined);
  });
}

function mixedWords(separator: Separator, mixed: string): string {
  const rest = SEPARATORS.filter((each) => each !== separator && mixed.includes(each));
  const words = rest.map((each) => `${SEPARATOR_WORDS[each]}s`).join(' and ');
  return `The first line mixes ${SEPARATOR_WORDS[separator]}s and ${words} (${shownHeading(mixed)}): it must use one separator.`;
}
