import { csvFieldsOrUndefined, csvLine, guardFormula } from '../../../pet-file/csv.ts';
import { RecordSplitter } from '../../../pet-file/records.ts';
import type { Row } from './bulk.ts';
import type { Preview } from './many-rows.ts';

const PLAIN_NUMBER = /^[+-]?[\d.,]+$/;

/** The outcome of each line as CSV, in the order of the lines, with all columns of the list. */
export function reportText(preview: Preview): string {
  const { layout, rows, faults } = preview;
  const records = recordsOf(preview);
  const table = layout.format === 'csv' ? layout : undefined;
  const { name, categoryId, status } = table?.columns ?? {};
  const used = [name, categoryId, status];
  const cellsOf = (line: number): string[] => {
    const record = records.get(line) ?? '';
    return table === undefined ? [] : (csvFieldsOrUndefined(record, table.separator) ?? [record]);
  };
  const others = (cells: readonly string[]): string[] =>
    (table?.headings ?? []).flatMap((_, at) => (used.includes(at) ? [] : [cells[at] ?? '']));
  const lines = [
    ...rows.map((row) => {
      const { line, pet, id, refusal } = row;
      const facts = [pet.name, String(pet.categoryId), pet.status ?? ''];
      const start = [outcomeOf(row), String(id ?? ''), ...facts, refusal ?? ''];
      return { line, fields: [...start, ...others(cellsOf(line))] };
    }),
    ...faults.map(({ line, reason }) => {
      const cells = cellsOf(line);
      const facts = used.map((at) => cells[at ?? -1] ?? '');
      return { line, fields: ['left out', '', ...facts, reason, ...others(cells)] };
    }),
  ].toSorted((a, b) => a.line - b.line);
  const headings = table?.hasHeadings === true ? table.headings : numbered(table?.headings ?? []);
  return [
    ['line', 'outcome', 'id', 'name', 'categoryId', 'status', 'reason', ...others(headings)],
    ...lines.map(({ line, fields }) => [String(line), ...fields]),
  ]
    .map((fields) => csvLine(fields.map(shown)))
    .join('');
}

/** The lines that were not added, as they were pasted, so that they can be corrected and pasted again. */
export function notAdded(preview: Preview): { text: string; count: number } {
  const { layout, rows, faults } = preview;
  const records = recordsOf(preview);
  const left = [...rows.filter(({ id }) => id === undefined), ...faults];
  const lines = left.map(({ line }) => line).toSorted((a, b) => a - b);
  const texts = lines.map((line) => records.get(line) ?? '');
  const count = texts.length;
  if (layout.format === 'json') return { text: `[${texts.join(',\n')}]\n`, count };
  const hasHeadings = layout.format === 'csv' && layout.hasHeadings;
  const [headings = ''] = hasHeadings ? records.values() : [];
  return { text: [...(hasHeadings ? [headings] : []), ...texts, ''].join('\n'), count };
}

function outcomeOf({ id, wasThere, refusal }: Row): string {
  if (wasThere === true) return 'already added';
  if (id !== undefined) return 'added';
  return refusal === undefined ? 'not sent' : 'refused';
}

function numbered(headings: readonly string[]): string[] {
  return headings.map((_, at) => `column ${at + 1}`);
}

/** A spreadsheet must not run a cell of the report. A number is not a formula. */
function shown(cell: string): string {
  return PLAIN_NUMBER.test(cell) ? cell : guardFormula(cell);
}

/** The text of each record of a list by its line, or by its number in a JSON array. */
function recordsOf({ text, layout }: Preview): Map<number, string> {
  if (layout.format === 'json') {
    return new Map(itemsOf(text).map((item, index) => [index + 1, item.trim()]));
  }
  const separator = layout.format === 'csv' ? layout.separator : undefined;
  const splitter = new RecordSplitter({ separator, linesBefore: 0 });
  const pieces = [splitter.push(new TextEncoder().encode(text)), splitter.end()];
  return new Map(
    pieces.flatMap(({ records }) => records.map((record) => [record.line, record.text])),
  );
}

/** The items of a JSON array, as they are written. */
function itemsOf(text: string): string[] {
  const items: string[] = [];
  let [depth, start] = [0, 0];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^])*"|[[\]{},]/g)) {
    if (token === ']' || token === '}') depth -= 1;
    if (depth === 1 ? token === ',' : depth === 0 && token === ']') {
      items.push(text.slice(start, index));
      start = index + 1;
    }
    if (token === '[' || token === '{') depth += 1;
    if (depth === 1 && token === '[' && items.length === 0 && start === 0) start = index + 1;
  }
  return items;
}
