import { newPet, type Pet } from '../domain/pet.ts';
import { parseJson, petJson } from '../domain/json.ts';
import { csvLine } from '../pet-file/csv.ts';
import type { PetRules } from '../pet-file/read-pet.ts';

/** The formats of an export. */
export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The rules of `POST /v1/pets`: unknown fields, such as an id, are ignored. */
export const PET_RULES: PetRules = {
  parseJson,
  newPet: (fields) => newPet(fields, { refuseUnknown: false }),
};

const COLUMNS = ['id', 'name', 'categoryId', 'status'] as const;

/** The text before the first animal. */
export function headerOf(format: ExportFormat): string {
  return format === 'csv' ? csvLine(COLUMNS) : '';
}

export function writePet(pet: Pet, format: ExportFormat): string {
  if (format === 'ndjson') return `${petJson(pet)}\n`;
  return csvLine([String(pet.id), pet.name, String(pet.categoryId), pet.status]);
}
