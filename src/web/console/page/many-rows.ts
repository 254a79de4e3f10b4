import type { Columns } from '../../../pet-file/columns.ts';
import { detectLayout, type Layout } from '../../../pet-file/layout.ts';
import { newPetReader, type LineFault } from '../../../pet-file/pet-reader.ts';
import type { Row } from './bulk.ts';
import { grouped } from './fields.ts';
import { lineKey, newOccurrenceCounter } from './line-key.ts';
import { PAGE_RULES } from './pet-rules.ts';

export const ROWS_MAX = 5_000;
export const BYTES_MAX = 1024 * 1024;

/** A list as it was read. */
export interface Preview {
  text: string;
  layout: Layout;
  rows: Row[];
  faults: LineFault[];
  /** How many names had space around them, which was removed. */
  trimmed: number;
}

/**
 * Reads a list with the reader of `petstore import`. Throws a PetFileError in words for people if it is not
 * a list, and UnknownColumns if its columns must be chosen first.
 */
export function readRows(text: string, columns?: Columns): Preview {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > BYTES_MAX) throw tooLarge();
  const layout = detectLayout(bytes, { columns });
  const preview: Preview = { text, layout, rows: [], faults: [], trimmed: 0 };
  const newPet: typeof PAGE_RULES.newPet = (fields) => {
    const pet = PAGE_RULES.newPet(fields);
    if (pet.name !== (fields as { name: unknown }).name) preview.trimmed += 1;
    return pet;
  };
  const reader = newPetReader(layout, { rules: { ...PAGE_RULES, newPet }, linesBefore: 0 });
  const countOccurrence = newOccurrenceCounter();
  for (const { pets, petLines, faults } of [...reader.push(bytes), ...reader.end()]) {
    for (const [index, { name, categoryId, status }] of pets.entries()) {
      const pet = { name, categoryId, status };
      const line = petLines[index] ?? 0;
      const occurrence = countOccurrence(pet);
      const idempotencyKey = lineKey(pet, occurrence, 0);
      preview.rows.push({ line, pet, occurrence, idempotencyKey, isSeen: false });
    }
    preview.faults.push(...faults);
  }
  if (preview.rows.length > ROWS_MAX) throw tooLarge();
  return preview;
}

export function tooLarge(): Error {
  return new Error(
    `This list is too long for a page: at most ${grouped(ROWS_MAX)} animals and 1 MiB. Use petstore import instead.`,
  );
}
