import { csvLine } from '../../../pet-file/csv.ts';
import { detectLayout, type Layout } from '../../../pet-file/layout.ts';
import { newPetReader, type LineFault } from '../../../pet-file/pet-reader.ts';
import type { Row } from './bulk.ts';
import { PAGE_RULES } from './pet-rules.ts';
import { newIdempotencyKey } from './session.ts';

export const ROWS_MAX = 5_000;
export const BYTES_MAX = 1024 * 1024;

export interface Preview {
  layout: Layout;
  rows: Row[];
  faults: LineFault[];
}

/** Reads a list with the reader of `petstore import`. Throws a PetFileError in words for people if it is no list. */
export function readRows(bytes: Uint8Array): Preview {
  if (bytes.length > BYTES_MAX) throw tooLarge();
  const layout = detectLayout(bytes);
  const reader = newPetReader(layout, { rules: PAGE_RULES, linesBefore: 0 });
  const preview: Preview = { layout, rows: [], faults: [] };
  for (const { pets, petLines, faults } of [...reader.push(bytes), ...reader.end()]) {
    for (const [index, { name, categoryId, status }] of pets.entries()) {
      const pet = { name, categoryId, status };
      const line = petLines[index] ?? 0;
      preview.rows.push({ line, pet, idempotencyKey: newIdempotencyKey() });
    }
    preview.faults.push(...faults);
  }
  if (preview.rows.length > ROWS_MAX) throw tooLarge();
  return preview;
}

export function tooLarge(): Error {
  return new Error(
    `This list is too long for a page: at most ${ROWS_MAX} animals and 1 MiB. Use petstore import instead.`,
  );
}

/** What became of each line, as CSV, in the order of the lines. */
export function reportText({ rows, faults }: Preview): string {
  const lines: { line: number; fields: string[] }[] = [
    ...rows.map(({ line, pet, id, refusal }) => {
      const outcome = id !== undefined ? 'added' : refusal === undefined ? 'not sent' : 'refused';
      return { line, fields: [outcome, String(id ?? ''), pet.name, refusal ?? ''] };
    }),
    ...faults.map(({ line, reason }) => ({ line, fields: ['left out', '', '', reason] })),
  ];
  const sorted = lines.toSorted((a, b) => a.line - b.line);
  return [
    csvLine(['line', 'outcome', 'id', 'name', 'reason']),
    ...sorted.map(({ line, fields }) => csvLine([String(line), ...fields])),
  ].join('');
}
