import { UsageError } from '../config.ts';
import { Refusal } from '../domain/errors.ts';
import { parseInt64 } from '../domain/int64.ts';
import { newPet, type NewPet, type Pet } from '../domain/pet.ts';
import { parseJson, petJson } from '../domain/json.ts';
import { csvLine, csvFieldsOrUndefined } from './csv.ts';

export const PET_FORMATS = ['ndjson', 'csv'] as const;
export type PetFormat = (typeof PET_FORMATS)[number];

const COLUMNS = ['id', 'name', 'categoryId', 'status'] as const;

export function formatOfFile(file: string): PetFormat {
  return file.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson';
}

/** The text before the first animal. */
export function headerOf(format: PetFormat): string {
  return format === 'csv' ? csvLine(COLUMNS) : '';
}

export function writePet(pet: Pet, format: PetFormat): string {
  if (format === 'ndjson') return `${petJson(pet)}\n`;
  return csvLine([String(pet.id), pet.name, String(pet.categoryId), pet.status]);
}

/** Reads an animal from one record, or throws a Refusal that says what is wrong with it. */
export type ReadPet = (record: string) => NewPet;

/** Reads one animal by the rules of `POST /v1/pets`: unknown fields, such as an id, are ignored. */
export function readNdjsonPet(record: string): NewPet {
  return newPet(parseJson(record), { refuseUnknown: false });
}

/** Returns how to read the records below this header of a CSV file. */
export function parseCsvHeader(header: string): ReadPet {
  const columns = csvFieldsOrUndefined(header) ?? [];
  const [nameAt, categoryAt, statusAt] = ['name', 'categoryId', 'status'].map((column) =>
    columns.indexOf(column),
  );
  if (nameAt === undefined || categoryAt === undefined || nameAt < 0 || categoryAt < 0) {
    throw new UsageError(
      'the first line of a CSV file must name its columns, including name and categoryId.',
    );
  }
  return (record) => {
    const fields = csvFieldsOrUndefined(record);
    if (fields === undefined) {
      throw new Refusal(
        'invalid_field',
        'Quotes are in the wrong place: a quoted field starts and ends with one, and a quote inside it is doubled.',
      );
    }
    if (fields.length !== columns.length) {
      throw new Refusal(
        'invalid_field',
        `The line has ${fields.length} fields: it must have ${columns.length}, one for each column of the header.`,
      );
    }
    const categoryText = fields[categoryAt] ?? '';
    const status = fields[statusAt ?? -1] ?? '';
    return newCsvPet({
      name: fields[nameAt],
      categoryId: parseInt64(categoryText) ?? categoryText,
      // In CSV an empty field is the only way to omit a status.
      ...(status === '' ? {} : { status }),
    });
  };
}

function newCsvPet(fields: Record<string, unknown>): NewPet {
  try {
    return newPet(fields, { refuseUnknown: false });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The rule is that of a request, whose numbers are JSON.
    throw new Refusal(error.code, error.message.replaceAll(', written as a JSON number', ''));
  }
}
