import { shownNames } from '../domain/errors.ts';
import { parseInt64 } from '../domain/int64.ts';
import { fieldOf, type ColumnGuess, type Columns } from './columns.ts';
import { csvFieldsOrUndefined, SEPARATORS, type Separator } from './csv.ts';
import { isSpreadsheet } from './encoding.ts';
import { RECORD_BYTES_MAX, RecordSplitter } from './records.ts';

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

/** The first lines of a table, and the columns that its first line names. */
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

/** What people call the separators, in the singular. */
const SEPARATOR_WORDS: Record<Separator, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

/** The layout of a file is found from this many bytes at its start. */
export const LAYOUT_BYTES = RECORD_BYTES_MAX + 1;

const SAMPLE_ROWS_MAX = 20;
const HEADING_LENGTH_MAX = 40;

/** Quotes a heading for a message. */
export function shownHeading(heading: string): string {
  const text = heading.trim();
  return `"${text.length > HEADING_LENGTH_MAX ? `${text.slice(0, HEADING_LENGTH_MAX)}…` : text}"`;
}

/** Throws a PetFileError if the file is a spreadsheet itself. Its first 4 bytes tell. */
export function refuseSpreadsheet(start: Uint8Array): void {
  if (!isSpreadsheet(start)) return;
  throw new PetFileError(
    'This is an Excel file or another spreadsheet: save it as CSV, or copy its cells and paste them into the console.',
  );
}

/**
 * Finds out how a file is written from its first `LAYOUT_BYTES`; if columns are chosen, it is a table. Throws a
 * PetFileError if they begin with neither JSON nor a table.
 */
export function detectLayout(start: Uint8Array, columns?: Columns): Layout {
  const first = new TextDecoder().decode(start).trimStart().charAt(0);
  // A file without animals may have any format.
  if (first === '') return { format: 'ndjson' };
  if (columns === undefined && first === '[') return { format: 'json' };
  if (columns === undefined && first === '{') return { format: 'ndjson' };
  return readTable(start, columns);
}

/**
 * Identifies a list by its content, so that a store recognises one that was added before. The same content with other
 * columns is another list of animals.
 */
export function sourceOf(layout: Layout, digest: string): string {
  const source = `${layout.format}:${digest}`;
  if (layout.format !== 'csv' || !layout.isChosen) return source;
  const { name, categoryId, status } = layout.columns;
  return `${source}:${[name, categoryId, status].join(',')}`;
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

/** Takes the columns that the first line names, or those that are chosen. */
function readTable(start: Uint8Array, chosen: Columns | undefined): TableLayout {
  const sample = sampleTable(start);
  const { separator, rows, guess } = sample;
  const [headings = []] = rows;
  const columns = chosen ?? namedColumns(sample);
  const last = Math.max(columns.name, columns.categoryId, columns.status ?? 0);
  if (last >= headings.length) {
    throw new PetFileError(`The table has no column ${last + 1}: it has ${headings.length}.`);
  }
  const { name, categoryId, status } = columns;
  return {
    format: 'csv',
    separator,
    headings,
    // No heading is an integer: a first line with a category is an animal.
    hasHeadings: parseInt64((headings[categoryId] ?? '').trim()) === undefined,
    columns,
    isChosen: name !== guess.name || categoryId !== guess.categoryId || status !== guess.status,
  };
}

function namedColumns(sample: TableSample): Columns {
  const [headings = []] = sample.rows;
  const { name, categoryId, status } = sample.guess;
  const twice = headings
    .map(fieldOf)
    .find((field, at) => field !== undefined && sample.guess[field] !== at);
  if (twice === undefined && name !== undefined && categoryId !== undefined) {
    return { name, categoryId, status };
  }
  const missing = name === undefined ? 'name' : 'categoryId or category';
  const fault = twice === undefined ? `none is called ${missing}` : `two columns are for ${twice}`;
  const words = `The first line must name its columns, including name and categoryId, separated by commas, semicolons or tabs: ${fault}.`;
  // A table of one column has no name or no category, whichever it is.
  throw headings.length > 1 ? new UnknownColumns(words, sample) : new PetFileError(words);
}

/**
 * The first lines of a table from the start of its file. Takes the separator with which the first line names most
 * columns, then one that gives every line as many cells, then the one that gives most.
 */
export function sampleTable(start: Uint8Array): TableSample {
  const samples = SEPARATORS.map((separator) => {
    const rows = sampleRows(start, separator);
    const [headings = []] = rows;
    const fields = headings.map(fieldOf);
    const columnOf = (field: keyof Columns) =>
      fields.includes(field) ? fields.indexOf(field) : undefined;
    const guess = {
      name: columnOf('name'),
      categoryId: columnOf('categoryId'),
      status: columnOf('status'),
    };
    const marks = [
      fields.filter((field) => field !== undefined).length,
      headings.length > 1 && rows.every((row) => row.length === headings.length) ? 1 : 0,
      headings.length,
    ];
    return { sample: { separator, rows, guess }, marks };
  });
  const [best] = samples.toSorted((a, b) => {
    const at = a.marks.findIndex((mark, index) => mark !== b.marks[index]);
    return (b.marks[at] ?? 0) - (a.marks[at] ?? 0);
  });
  if (best === undefined || best.sample.rows.length === 0) throw unreadableStart(start);
  return best.sample;
}

/** The rows until one that cannot be read. */
function sampleRows(start: Uint8Array, separator: Separator): string[][] {
  const rows: string[][] = [];
  for (const { text, fault } of firstRecords(start, separator)) {
    const cells = fault === undefined ? csvFieldsOrUndefined(text, separator) : undefined;
    if (cells === undefined || rows.length === SAMPLE_ROWS_MAX) break;
    if (cells.some((cell) => cell !== '')) rows.push(cells);
  }
  return rows;
}

/** The last record of the first bytes of a long file may be incomplete. */
function firstRecords(start: Uint8Array, separator: Separator) {
  const splitter = new RecordSplitter({ separator, linesBefore: 0 });
  const { records } = splitter.push(start);
  return start.length < LAYOUT_BYTES ? [...records, ...splitter.end().records] : records;
}

function unreadableStart(start: Uint8Array): PetFileError {
  const [first] = firstRecords(start, ',');
  const fault =
    first === undefined
      ? `is over ${RECORD_BYTES_MAX} bytes long.`
      : (first.fault ?? 'must name its columns, without quotes in the wrong place.');
  return new PetFileError(`The first line ${fault}`);
}
