// CSV as RFC 4180 defines it: a field with commas, quotes or line breaks is enclosed in double quotes, and a
// double quote inside it is doubled. Spreadsheets also separate fields by semicolons or tabs; only commas
// are written. Between tabs, as a spreadsheet copies cells, a quote inside a field needs no quotes around it.

export const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

const MUST_QUOTE = /[",\r\n]/;
const [QUOTE, RETURN, NEWLINE] = [0x22, 0x0d, 0x0a];

export function csvLine(fields: readonly string[]): string {
  const written = fields.map((field) =>
    MUST_QUOTE.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
  );
  return `${written.join(',')}\r\n`;
}

/** A spreadsheet runs a cell that begins with one of these as a formula. The tabs are from `guardFormula`. */
const FORMULA = /^\t*[=+@-]/;

/** Makes a spreadsheet show the text instead of running it: a tab in front. */
export function guardFormula(text: string): string {
  return FORMULA.test(text) ? `\t${text}` : text;
}

/** Undoes `guardFormula`, for a cell of any table. */
export function unguardFormula(cell: string): string {
  return cell.startsWith('\t') && FORMULA.test(cell) ? cell.slice(1) : cell;
}

export interface CsvRecordEnd {
  /**
   * `complete`: a line break outside quotes ends the record. `faulty`: a quote is in the wrong place.
   * `open` and `unended`: the bytes end before the record does, inside or outside quotes.
   */
  outcome: 'complete' | 'faulty' | 'open' | 'unended';
  /** The index of the last byte that was examined: for a complete record, its line break. */
  at: number;
}

/** Finds the end of the first record. A quote opens a quoted field only at the start of that field. */
export function findCsvRecordEnd(bytes: Uint8Array, separator: Separator): CsvRecordEnd {
  const end = separator.charCodeAt(0);
  const faultyQuote = separator === '\t' ? -1 : QUOTE;
  const last = bytes.length - 1;
  let at = 0;
  while (at <= last) {
    if (bytes[at] === QUOTE) {
      let quote = bytes.indexOf(QUOTE, at + 1);
      while (quote !== -1 && bytes[quote + 1] === QUOTE) quote = bytes.indexOf(QUOTE, quote + 2);
      if (quote === -1) return { outcome: 'open', at: last };
      at = quote + 1;
      if (bytes[at] === RETURN && (at === last || bytes[at + 1] === NEWLINE)) at += 1;
    } else {
      while (
        at <= last &&
        bytes[at] !== end &&
        bytes[at] !== NEWLINE &&
        bytes[at] !== faultyQuote
      ) {
        at += 1;
      }
    }
    if (at > last) break;
    if (bytes[at] === NEWLINE) return { outcome: 'complete', at };
    if (bytes[at] !== end) return { outcome: 'faulty', at };
    at += 1;
  }
  return { outcome: 'unended', at: last };
}

/** Returns the fields of one record, or undefined if a quote is in the wrong place. */
export function csvFieldsOrUndefined(record: string, separator: Separator): string[] | undefined {
  if (!record.includes('"')) return record.split(separator);
  const fields: string[] = [];
  let at = 0;
  while (true) {
    const isQuoted = record.charAt(at) === '"';
    const end = isQuoted ? endOfQuoted(record, at) : endOfBare(record, at, separator);
    if (end === undefined) return undefined;
    fields.push(
      isQuoted ? record.slice(at + 1, end - 1).replaceAll('""', '"') : record.slice(at, end),
    );
    if (end === record.length) return fields;
    if (record.charAt(end) !== separator) return undefined;
    at = end + 1;
  }
}

/** The index after the closing quote. */
function endOfQuoted(record: string, start: number): number | undefined {
  let at = record.indexOf('"', start + 1);
  while (at !== -1 && record.charAt(at + 1) === '"') at = record.indexOf('"', at + 2);
  return at === -1 ? undefined : at + 1;
}

function endOfBare(record: string, start: number, separator: Separator): number | undefined {
  const next = record.indexOf(separator, start);
  const end = next === -1 ? record.length : next;
  return separator !== '\t' && record.slice(start, end).includes('"') ? undefined : end;
}
