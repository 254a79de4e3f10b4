import { Refusal } from '../domain/errors.ts';
import { parseInt64 } from '../domain/int64.ts';
import type { NewPet } from '../domain/pet.ts';
import { csvFieldsOrUndefined } from './csv.ts';

export type PetFormat = 'ndjson' | 'csv';

/** Parses JSON without rounding, and makes an animal of fields. Both throw a Refusal that says what is wrong. */
export interface PetRules {
  parseJson: (text: string) => unknown;
  newPet: (fields: unknown) => NewPet;
}

/** Reads an animal from one record, or throws a Refusal that says what is wrong with it. */
export type ReadPet = (record: string) => NewPet;

/** The first line of a CSV file does not name the columns, so that no line below it can be read. */
export class HeaderError extends Error {
  override readonly name = 'HeaderError';
}

/** Returns how to read the lines of an NDJSON file. */
export function ndjsonReader({ parseJson, newPet }: PetRules): ReadPet {
  return (record) => newPet(parseJson(record));
}

/** Returns how to read the records below this header of a CSV file. */
export function parseCsvHeader(header: string, { newPet }: PetRules): ReadPet {
  const columns = csvFieldsOrUndefined(header) ?? [];
  const [nameAt, categoryAt, statusAt] = ['name', 'categoryId', 'status'].map((column) =>
    columns.indexOf(column),
  );
  if (nameAt === undefined || categoryAt === undefined || nameAt < 0 || categoryAt < 0) {
    throw new HeaderError(
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
    const found = {
      name: fields[nameAt],
      categoryId: parseInt64(categoryText) ?? categoryText,
      // In CSV an empty field is the only way to omit a status.
      ...(status === '' ? {} : { status }),
    };
    try {
      return newPet(found);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The rule is that of a request, whose numbers are JSON.
      throw new Refusal(error.code, error.message.replaceAll(', written as a JSON number', ''));
    }
  };
}
