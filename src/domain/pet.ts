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

function isName(text: string): boolean {
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
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal('invalid_json', `The body must be a JSON object, not ${describe(body)}.`);
  }
  const given = body as Record<string, unknown>;
  const missing: Field[] = [];
  const invalid: Field[] = [];
  for (const field of FIELDS) {
    const isGiven = Object.hasOwn(given, field);
    if (isGiven && !IS_VALID[field](given[field])) invalid.push(field);
    if (!isGiven && REQUIRED.includes(field)) missing.push(field);
  }
  const unknown = options.refuseUnknown
    ? Object.keys(given).filter((field) => !Object.hasOwn(RULES, field))
    : [];
  if (missing.length + invalid.length + unknown.length > 0) {
    throw refusalOf(missing, invalid, unknown);
  }
  const valid = given as Static<typeof NewPet>;
  return {
    name: valid.name,
    categoryId: valid.categoryId,
    status: valid.status ?? DEFAULT_STATUS,
  };
}

function refusalOf(missing: Field[], invalid: Field[], unknown: string[]): Refusal {
  const faults = [
    ...missing.map((field) => `${field} is missing: it ${RULES[field]}.`),
    ...invalid.map((field) => `${field} ${RULES[field]}.`),
    ...(unknown.length > 0
      ? [`Unknown fields: ${shownNames(unknown)}; a NewPet has only name, categoryId and status.`]
      : []),
  ];
  const invalidOrUnknown = invalid.length > 0 ? 'invalid_field' : 'unknown_field';
  return new Refusal(missing.length > 0 ? 'missing_field' : invalidOrUnknown, faults.join(' '));
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`;
}
