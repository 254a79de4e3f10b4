import { UsageError } from '../config.ts';
import { Refusal } from '../domain/errors.ts';
import { parseInt64 } from '../domain/int64.ts';
import { newPet, type NewPet, type Pet } from '../domain/pet.ts';
import { parseJson, petJson } from '../domain/json.ts';
import { csvLine, parseCsvRecord } from './csv.ts';

export const PET_FORMATS = ['ndjson', 'csv'] as const;
export type PetFormat = (typeof PET_FORMATS)[number];

const COLUMNS = ['id', 'name', 'categoryId', 'status'] as const;

/** The format that was asked for, else the one of the file's ending, else NDJSON. */
export function choosePetFormat(asked: string | undefined, file: string | undefined): PetFormat {
  if (asked === undefined) return file?.toLowerCase().endsWith('.csv') === true ? 'csv' : 'ndjson';
  const format = PET_FORMATS.find((each) => each === asked);
  if (format !== undefined) return format;
  throw new UsageError(`--format is "${asked}": it must be one of ${PET_FORMATS.join(', ')}.`);
}

/** What stands before the first animal. */
export function headerOf(format: PetFormat): string {
  return format === 'csv' ? csvLine(COLUMNS) : '';
}

export function writePet(pet: Pet, format: PetFormat): string {
  if (format === 'ndjson') return `${petJson(pet)}\n`;
  return csvLine([String(pet.id), pet.name, String(pet.categoryId), pet.status]);
}

/** Turns one record into an animal, or throws a Refusal that says why not. */
export type ReadPet = (record: string) => NewPet;

/** Reads one animal by the rules of `POST /v1/pets`: unknown fields, such as an id, are ignored. */
export function readNdjsonPet(record: string): NewPet {
  return newPet(parseJson(record), { refuseUnknown: false });
}

/** Reads the animals of a CSV file whose first record is this. */
export function csvPetReader(header: string): ReadPet {
  const columns = parseCsvRecord(header) ?? [];
  const [nameAt, categoryAt, statusAt] = ['name', 'categoryId', 'status'].map((column) =>
    columns.indexOf(column),
  );
  if (nameAt === undefined || categoryAt === undefined || nameAt < 0 || categoryAt < 0) {
    throw new UsageError(
      'the first line of a CSV file must name its columns, name and categoryId among them.',
    );
  }
  return (record) => {
    const fields = parseCsvRecord(record);
    if (fields === undefined) {
      throw new Refusal(
        'invalid_field',
        'Quotes are in the wrong place: a quoted field starts and ends with one, and a quote inside it is doubled.',
      );
    }
    if (fields.length !== columns.length) {
      throw new Refusal(
        'invalid_field',
        `There are ${fields.length} fields under ${columns.length} columns.`,
      );
    }
    const categoryText = fields[categoryAt] ?? '';
    const status = fields[statusAt ?? -1] ?? '';
    return newPet(
      {
        name: fields[nameAt],
        categoryId: parseInt64(categoryText) ?? categoryText,
        // CSV cannot leave a field out other than by leaving it empty.
        ...(status === '' ? {} : { status }),
      },
      { refuseUnknown: false },
    );
  };
}
