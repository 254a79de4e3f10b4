import type { Pet } from '../domain/pet.ts';
import { petJson } from '../domain/json.ts';
import { csvLine, guardFormula } from '../pet-file/csv.ts';

/** The formats of an export. */
export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

const COLUMNS = ['id', 'name', 'categoryId', 'status'] as const;
/** With it, spreadsheets read the file as UTF-8. `petstore import` and the console accept it. */
const BYTE_ORDER_MARK = '\uFEFF';

/** CSV for programs has the exact names. CSV for a spreadsheet has none that it would run as a formula. */
export type WrittenFormat = ExportFormat | 'spreadsheet';

/** The text before the first animal. */
export function headerOf(format: WrittenFormat): string {
  if (format === 'ndjson') return '';
  return (format === 'spreadsheet' ? BYTE_ORDER_MARK : '') + csvLine(COLUMNS);
}

export function writePet(pet: Pet, format: WrittenFormat): string {
  if (format === 'ndjson') return `${petJson(pet)}\n`;
  const name = format === 'spreadsheet' ? guardFormula(pet.name) : pet.name;
  return csvLine([String(pet.id), name, String(pet.categoryId), pet.status]);
}
