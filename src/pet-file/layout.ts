import { shownNames } from '../domain/errors.ts';
import { csvFieldsOrUndefined, findCsvRecordEnd, SEPARATORS, type Separator } from './csv.ts';
import { RECORD_BYTES_MAX } from './records.ts';

export type PetFormat = 'ndjson' | 'csv' | 'json';

/** How a file is written: one JSON object per line, a table whose first line names its columns, or a JSON array. */
export type Layout = { format: 'ndjson' } | TableLayout | { format: 'json' };

export interface TableLayout {
  format: 'csv';
  separator: Separator;
  /** As the first line names them. */
  headings: readonly string[];
  /** The index of the column of each field; undefined for a table without a status. */
  columns: Record<'name' | 'categoryId', number> & { status: number | undefined };
}

/** The file as a whole cannot be read, so that no animal of it can be added. The message is one sentence. */
export class PetFileError extends Error {
  override readonly name = 'PetFileError';
}

export type Field = keyof TableLayout['columns'];

const FIELDS = new Map<string, Field>([
  ['name', 'name'],
  ['categoryid', 'categoryId'],
  ['category', 'categoryId'],
  ['status', 'status'],
]);

/** How people call the separators, in the singular. */
const SEPARATOR_WORDS: Record<Separator, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

/** The layout of a file can be found from so many bytes of its start. */
export const LAYOUT_BYTES = RECORD_BYTES_MAX + 1;

const HEADING_LENGTH_MAX = 40;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;
const LINE_BREAKS = [0x0d, 0x0a];
const BLANKS = [...LINE_BREAKS, 0x20, 0x09];
const [OBJECT_START, ARRAY_START] = [0x7b, 0x5b];

/** The field that a heading, or the name of a field in JSON, means. Case, spaces, `_` and `-` do not matter. */
export function fieldOf(heading: string): Field | undefined {
  return FIELDS.get(heading.replaceAll(/[\s_-]/g, '').toLowerCase());
}

/** Quotes a heading for a message. */
export function shownHeading(heading: string): string {
  const isLong = heading.length > HEADING_LENGTH_MAX;
  return `"${isLong ? `${heading.slice(0, HEADING_LENGTH_MAX)}…` : heading}"`;
}

/**
 * Finds out how a file is written from its first `LAYOUT_BYTES`, unless its format is given. Throws a
 * PetFileError if they begin with neither JSON nor a line that names the columns.
 */
export function detectLayout(start: Uint8Array, format?: PetFormat): Layout {
  const hasMark = BYTE_ORDER_MARK.every((byte, at) => start[at] === byte);
  const text = start.subarray(hasMark ? BYTE_ORDER_MARK.length : 0);
  const first = text.find((byte) => !BLANKS.includes(byte));
  // A file without animals has any format.
  if (first === undefined) return { format: 'ndjson' };
  const begun = first === ARRAY_START ? 'json' : first === OBJECT_START ? 'ndjson' : 'csv';
  const found = format ?? begun;
  if (found !== 'csv') return { format: found };
  // An empty line is not a record, so the header may follow some.
  return readHeader(text.subarray(text.findIndex((byte) => !LINE_BREAKS.includes(byte))));
}

/** What a person should know about the layout: in the preview of a page and for `--dry-run`. */
export function layoutWords(layout: Layout): string {
  if (layout.format === 'json') return 'A JSON array.';
  if (layout.format === 'ndjson') return 'One JSON object per line.';
  const { separator, headings, columns } = layout;
  const used = Object.entries(columns).flatMap(([field, at]) => {
    const heading = headings[at ?? -1];
    const word = field === 'categoryId' ? 'category' : field;
    return heading === undefined ? [] : [`${word} from ${shownHeading(heading.trim())}`];
  });
  const unused = headings.filter((heading) => fieldOf(heading) === undefined && heading !== '');
  const words = `A table separated by ${SEPARATOR_WORDS[separator]}s: ${used.join(', ')}.`;
  return unused.length === 0 ? words : `${words} Not used: ${shownNames(unused)}.`;
}

/** Reads the header with each separator, and takes the one that finds the most fields. */
function readHeader(bytes: Uint8Array): TableLayout {
  const readings = SEPARATORS.map((separator) => {
    const headings = headingsOf(bytes, separator) ?? [];
    return { separator, headings, found: headings.filter((each) => fieldOf(each) !== undefined) };
  });
  const [best] = readings.toSorted((a, b) => b.found.length - a.found.length);
  if (best === undefined || readings.every(({ headings }) => headings.length === 0)) {
    throw new PetFileError(
      'The first line must name its columns: it has quotes in the wrong place.',
    );
  }
  const { separator, headings } = best;
  refuseMixed(separator, headings);
  const [name, categoryId, status] = (['name', 'categoryId', 'status'] as const).map((field) =>
    columnOf(field, headings),
  );
  if (name === undefined || categoryId === undefined) {
    const missing = name === undefined ? 'name' : 'categoryId or category';
    throw new PetFileError(
      `The first line must name its columns, including name and categoryId, separated by commas, semicolons or tabs: none is called ${missing}.`,
    );
  }
  return { format: 'csv', separator, headings, columns: { name, categoryId, status } };
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
    throw new PetFileError('The first line is not valid UTF-8: the file must be saved as UTF-8.');
  }
}

function columnOf(field: Field, headings: readonly string[]): number | undefined {
  const [first, second] = [...headings.entries()].filter(([, each]) => fieldOf(each) === field);
  if (second !== undefined && first !== undefined) {
    throw new PetFileError(
      `The first line has two columns for ${field}, ${shownHeading(first[1])} and ${shownHeading(second[1])}: only one may be there.`,
    );
  }
  return first?.[0];
}

/** A heading such as `status;colour` between commas would be ignored, and its column with it. */
function refuseMixed(separator: Separator, headings: readonly string[]): void {
  const mixed = headings.find((heading) => {
    const parts = heading.split(/[,;\t]/);
    return parts.length > 1 && parts.some((part) => fieldOf(part) !== undefined);
  });
  if (mixed === undefined) return;
  const rest = SEPARATORS.filter((each) => each !== separator && mixed.includes(each));
  const words = rest.map((each) => `${SEPARATOR_WORDS[each]}s`).join(' and ');
  throw new PetFileError(
    `The first line mixes ${SEPARATOR_WORDS[separator]}s and ${words} (${shownHeading(mixed)}): it must use one separator.`,
  );
}
