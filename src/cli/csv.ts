// CSV as RFC 4180 has it: fields with commas, quotes or line breaks stand in double quotes, and a double
// quote among them is doubled.

const MUST_QUOTE = /[",\r\n]/;

export function csvLine(fields: readonly string[]): string {
  const written = fields.map((field) =>
    MUST_QUOTE.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
  );
  return `${written.join(',')}\r\n`;
}

/** The fields of one record, or undefined where quotes stand in the wrong place. */
export function parseCsvRecord(record: string): string[] | undefined {
  if (!record.includes('"')) return record.split(',');
  const fields: string[] = [];
  let at = 0;
  while (true) {
    const isQuoted = record.charAt(at) === '"';
    const end = isQuoted ? endOfQuoted(record, at) : endOfBare(record, at);
    if (end === undefined) return undefined;
    fields.push(
      isQuoted ? record.slice(at + 1, end - 1).replaceAll('""', '"') : record.slice(at, end),
    );
    if (end === record.length) return fields;
    if (record.charAt(end) !== ',') return undefined;
    at = end + 1;
  }
}

/** The place behind the closing quote. */
function endOfQuoted(record: string, start: number): number | undefined {
  let at = record.indexOf('"', start + 1);
  while (at !== -1 && record.charAt(at + 1) === '"') at = record.indexOf('"', at + 2);
  return at === -1 ? undefined : at + 1;
}

function endOfBare(record: string, start: number): number | undefined {
  const comma = record.indexOf(',', start);
  const end = comma === -1 ? record.length : comma;
  const quote = record.indexOf('"', start);
  return quote === -1 || quote >= end ? end : undefined;
}
