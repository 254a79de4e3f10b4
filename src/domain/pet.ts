import type { Static } from 'typebox';
import { Refusal, shownNames } from './errors.ts';
import { Int64, INT64_MAX, INT64_MIN, parseInt64 } from './int64.ts';

// Plain JSON Schema. TypeBox derives the types from it, and openapi.ts the document.

export const NAME_CODE_POINTS_MAX = 255;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof PET_STATUSES)[number];

const DEFAULT_STATUS: PetStatus = 'available';

export const PetStatus = {
  enum: PET_STATUSES,
  type: 'string',
  title: 'PetStatus',
  description: 'Availability status of an animal.',
  examples: ['available'],
} as const;

const fields = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: NAME_CODE_POINTS_MAX,
    // Several generators and validators fail on \u0000 and on surrogates: newPet checks those.
    pattern: String.raw`^[^\x00]*$`,
    description: "The animal's name, returned as it was sent. No U+0000 and no lone surrogates.",
    examples: ['Rex'],
  },
  categoryId: {
    ...Int64,
    description: 'Identifier of the category the animal belongs to.',
    examples: [7],
  },
} as const;

export const NewPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: {
    ...fields,
    status: {
      ...PetStatus,
      description: `Availability status. Default: \`${DEFAULT_STATUS}\`.`,
      default: DEFAULT_STATUS,
    },
  },
  title: 'NewPet',
  description: 'An animal to add.',
  examples: [{ name: 'Rex', categoryId: 7, status: 'available' }],
} as const;

export const Pet = {
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: {
    id: {
      ...Int64,
      description: 'Unique identifier assigned by the service on creation.',
      examples: [1],
    },
    ...fields,
    status: PetStatus,
  },
  title: 'Pet',
  description: 'An animal of the store.',
  examples: [{ id: 1, name: 'Rex', categoryId: 7, status: 'available' }],
} as const;
export type Pet = Static<typeof Pet>;

/** An animal before it is stored: complete except for the id, which the store assigns. */
export type NewPet = Omit<Pet, 'id'>;

export const Pets = {
  type: 'array',
  items: Pet,
  title: 'Pets',
  description: 'A list of animals.',
  examples: [[{ id: 1, name: 'Rex', categoryId: 7, status: 'available' }]],
} as const;

const CANONICAL_INTEGER = /^(?:0|-?[1-9]\d*)$/;

/** Parses the id in a path. Undefined for a text that no animal's URL contains, such as `01` or `1.0`. */
export function parsePetId(text: string): bigint | undefined {
  return CANONICAL_INTEGER.test(text) ? parseInt64(text) : undefined;
}

type Field = keyof typeof NewPet.properties;

/** What each field must be; part of the error message. */
const RULES: Record<Field, string> = {
  name: `must be a string of 1 to ${NAME_CODE_POINTS_MAX} characters, without U+0000 and without lone surrogates`,
  categoryId:
    'must be an integer from -9223372036854775808 to 9223372036854775807, written as a JSON number',
  status: `must be one of ${PET_STATUSES.join(', ')}`,
};

/** A test compares these with the schemas: a validator made from them would load 235 modules at every start. */
const IS_VALID: Record<Field, (value: unknown) => boolean> = {
  name: (value) => typeof value === 'string' && isName(value),
  categoryId: (value) => typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX,
  status: (value) => PET_STATUSES.some((status) => status === value),
};

/** Whether an animal may be called so. */
export function isName(text: string): boolean {
  const max = NAME_CODE_POINTS_MAX;
  // A code point is one or two code units, so only a long name needs to be counted.
  const isShort = text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max);
  return text !== '' && isShort && !text.includes('\0') && text.isWellFormed();
}

const FIELDS = Object.keys(RULES) as Field[];
const REQUIRED: readonly string[] = NewPet.required;

/**
 * Validates the body of a create and fills in the defaults. The Refusal names every invalid field. Fields
 * that are not part of NewPet are refused with `refuseUnknown`, and ignored without it.
 */
export function newPet(body: unknown, options: { refuseUnknown: boolean }): NewPet {
  const given = requireObject(body);
  const faults = faultsIn(given, REQUIRED);
  if (options.refuseUnknown) faults.unknown = unknownIn(given, FIELDS);
  refuse(faults, 'a NewPet has only name, categoryId and status');
  const { name, categoryId, status = DEFAULT_STATUS } = given as Static<typeof NewPet>;
  return { name, categoryId, status };
}

/** A change of an animal: as the person saw it, and as it is to be. */
export interface PetEdit {
  from: NewPet;
  to: NewPet;
}

/** Validates a change, `{"from": {name, categoryId, status}, "to": {some of them}}`, as `newPet` does. */
export function newPetEdit(body: unknown, options: { refuseUnknown: boolean }): PetEdit {
  const { from, to } = partsOf(body, { from: FIELDS, to: [] }, options) as {
    from: NewPet;
    to: Partial<NewPet>;
  };
  const seen = { name: from.name, categoryId: from.categoryId, status: from.status };
  return {
    from: seen,
    to: {
      name: to.name ?? seen.name,
      categoryId: to.categoryId ?? seen.categoryId,
      status: to.status ?? seen.status,
    },
  };
}

/** Validates a removal, `{"from": {name, categoryId, status}}`: the animal as the person saw it. */
export function newPetRemoval(body: unknown, options: { refuseUnknown: boolean }): NewPet {
  const { from } = partsOf(body, { from: FIELDS }, options) as { from: NewPet };
  return { name: from.name, categoryId: from.categoryId, status: from.status };
}

/** The faults of a body: names of fields with what each must be, and the names of unknown ones. */
interface Faults {
  missing: string[];
  invalid: string[];
  unknown: string[];
}

/** Validates an object of animals, each with the fields that it must have. */
function partsOf(
  body: unknown,
  parts: Readonly<Record<string, readonly Field[]>>,
  { refuseUnknown }: { refuseUnknown: boolean },
): Record<string, unknown> {
  const given = requireObject(body);
  const names = Object.keys(parts);
  const all: Faults = { missing: [], invalid: [], unknown: [] };
  if (refuseUnknown) all.unknown = unknownIn(given, names);
  for (const [name, required] of Object.entries(parts)) {
    const part = given[name];
    if (!isObject(part)) {
      const rule = `must be an object with ${FIELDS.join(', ')}`;
      if (Object.hasOwn(given, name)) all.invalid.push(`${name} ${rule}`);
      else all.missing.push(`${name} is missing: it ${rule}`);
      continue;
    }
    const faults = faultsIn(part, required, `${name}.`);
    all.missing.push(...faults.missing);
    all.invalid.push(...faults.invalid);
    if (refuseUnknown) all.unknown.push(...unknownIn(part, FIELDS));
  }
  refuse(all, `this body has only ${names.join(' and ')}, with ${FIELDS.join(', ')}`);
  return given;
}

function faultsIn(
  given: Record<string, unknown>,
  required: readonly string[],
  prefix = '',
): Faults {
  const faults: Faults = { missing: [], invalid: [], unknown: [] };
  for (const field of FIELDS) {
    const isGiven = Object.hasOwn(given, field);
    if (isGiven && !IS_VALID[field](given[field])) {
      faults.invalid.push(`${prefix}${field} ${RULES[field]}`);
    }
    if (!isGiven && required.includes(field)) {
      faults.missing.push(`${prefix}${field} is missing: it ${RULES[field]}`);
    }
  }
  return faults;
}

function unknownIn(given: Record<string, unknown>, known: readonly string[]): string[] {
  return Object.keys(given).filter((field) => !known.includes(field));
}

/** Throws if there is a fault. */
function refuse({ missing, invalid, unknown }: Faults, known: string): void {
  const faults = [...missing, ...invalid];
  if (unknown.length > 0) faults.push(`Unknown fields: ${shownNames(unknown)}; ${known}`);
  if (faults.length === 0) return;
  const invalidOrUnknown = invalid.length > 0 ? 'invalid_field' : 'unknown_field';
  const code = missing.length > 0 ? 'missing_field' : invalidOrUnknown;
  throw new Refusal(code, faults.map((fault) => `${fault}.`).join(' '));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function requireObject(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body;
  throw new Refusal('invalid_json', `The body must be a JSON object, not ${describe(body)}.`);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`;
}
