// CSV as RFC 4180 defines it: a field with commas, quotes or line breaks is enclosed in double quotes, and a
// double quote inside it is doubled. Spreadsheets also separate fields by semicolons or tabs; only commas
// are written. Between tabs, as a spreadsheet copies cells, a quote inside a field needs no quotes around it.

export const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

const MUST_QUOTE = /[",\r\n]/;
const [QUOTE, RETURN] = [0x22, 0x0d];

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

/**
 * How a line of CSV ends: `complete` ends the record, `quoted` is inside a quoted field that goes on in the next line,
 * and in a `faulty` line a quote is in the wrong place. A quote opens a field only at the start of that field.
 */
export function readCsvLine(
  line: Uint8Array,
  separator: Separator,
  { startsQuoted }: { startsQuoted: boolean },
): 'complete' | 'quoted' | 'faulty' {
  const end = separator.charCodeAt(0);
  let isQuoted = startsQuoted;
  let at = 0;
  for (let quote = line.indexOf(QUOTE); quote !== -1; quote = line.indexOf(QUOTE, at)) {
    at = quote + 1;
    if (!isQuoted) {
      isQuoted = quote === 0 || line[quote - 1] === end;
      if (!isQuoted && separator !== '\t') return 'faulty';
    } else if (line[at] === QUOTE) {
      at += 1;
    } else {
      isQuoted = false;
      const isLast = at === line.length || (line[at] === RETURN && at + 1 === line.length);
      if (!isLast && line[at] !== end) return 'faulty';
    }
  }
  return isQuoted ? 'quoted' : 'complete';
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
