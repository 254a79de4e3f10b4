import { Refusal } from '../domain/errors.ts';
import { parseInt64 } from '../domain/int64.ts';
import { newPet, type NewPet } from '../domain/pet.ts';
import { isBlank, trimName, typingFaults, type TypedPet } from '../domain/typed-pet.ts';
import { csvFieldsOrUndefined, unguardFormula } from './csv.ts';
import type { TableLayout } from './layout.ts';

/**
 * Reads an animal from one record, or throws a Refusal that says what is wrong with it. Undefined for an
 * empty row of a table.
 */
export type ReadPet = (record: string) => NewPet | undefined;

/** Makes an animal of a JSON value, whose fields are those of the interface. */
export function petOfJson(value: unknown): NewPet {
  if (typeof value !== 'object' || value === null || !('status' in value)) return listedPet(value);
  const { status } = value;
  return listedPet(typeof status === 'string' ? { ...value, status: statusOf(status) } : value);
}

/** The rules of a create, which ignores unknown fields such as an id, and those for what people type. */
function listedPet(fields: unknown): NewPet {
  const pet = newPet(fields, { refuseUnknown: false });
  if (!isBlank(pet.name)) return { ...pet, name: trimName(pet.name) };
  throw new Refusal('invalid_field', 'name must have a character that can be seen.');
}

function statusOf(text: string): string {
  return text.trim().toLowerCase();
}

/** Returns how to read the rows of a table. */
export function rowReader(table: TableLayout): ReadPet {
  const { separator, headings, columns } = table;
  const each = table.hasHeadings ? 'one for each column of the header' : 'as the first line';
  return (record) => {
    const fields = csvFieldsOrUndefined(record, separator);
    if (fields === undefined) {
      throw new Refusal(
        'invalid_field',
        'Quotes are in the wrong place: a quoted field starts and ends with one, and a quote inside it is doubled.',
      );
    }
    // Spreadsheets write empty rows as separators.
    if (fields.every((field) => field === '')) return undefined;
    if (fields.length !== headings.length) {
      throw new Refusal(
        'invalid_field',
        `The line has ${fields.length} field${fields.length === 1 ? '' : 's'}: it must have ${headings.length}, ${each}.`,
      );
    }
    const categoryText = (fields[columns.categoryId] ?? '').trim();
    const status = statusOf(fields[columns.status ?? -1] ?? '');
    const found = {
      name: unguardFormula(fields[columns.name] ?? ''),
      categoryId: parseInt64(categoryText) ?? categoryText,
      // In a table an empty field is the only way to omit a status.
      ...(status === '' ? {} : { status }),
    };
    return petOfTable(found);
  };
}

/** A table is what people type, so its faults are in the words of the console's form. */
function petOfTable(typed: TypedPet): NewPet {
  const faults = Object.values(typingFaults(typed)).filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new Refusal('invalid_field', faults.join(' '));
  return listedPet(typed);
}
