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

/** A number with a fraction, an exponent or more digits than a double holds: read without rounding. */
const MAY_ROUND = /\d[.eE]|\d{16}/;

/** The rules are those of a create, and so are the names of fields; an id is ignored as it is there. */
export function readNdjsonPet(record: string): NewPet {
  const value = MAY_ROUND.test(record) ? parseJson(record) : parsePlainJson(record);
  return newPet(value, { refuseUnknown: false });
}

/** Several times as fast as parseJson, for a text in which no number can be rounded. */
function parsePlainJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Refusal('invalid_json', 'The line is not valid JSON.', { cause });
  }
  const pet = value as { categoryId?: unknown } | null;
  if (typeof pet?.categoryId === 'number') pet.categoryId = BigInt(pet.categoryId);
  return value;
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
