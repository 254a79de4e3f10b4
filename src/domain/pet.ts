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
const REQUIRED: readonly Field[] = NewPet.required;

interface Strictness {
  /** Whether fields that are not part of the body are refused; otherwise they are ignored. */
  refuseUnknown: boolean;
}

/** Validates the body of a create and fills in the defaults. The Refusal names every invalid field. */
export function newPet(body: unknown, { refuseUnknown }: Strictness): NewPet {
  const given = requireObject(body, 'The body');
  const isGiven = (field: Field): boolean => Object.hasOwn(given, field);
  const missing = REQUIRED.filter((field) => !isGiven(field));
  const invalid = FIELDS.filter((field) => isGiven(field) && !IS_VALID[field](given[field]));
  const unknown = refuseUnknown ? unknownIn(given, FIELDS) : [];
  const faults = [
    ...missing.map((field) => `${field} is missing: it ${RULES[field]}.`),
    ...invalid.map((field) => `${field} ${RULES[field]}.`),
    ...unknown.map((names) => `${names}; a NewPet has only name, categoryId and status.`),
  ];
  if (faults.length > 0) {
    const invalidOrUnknown = invalid.length > 0 ? 'invalid_field' : 'unknown_field';
    throw new Refusal(missing.length > 0 ? 'missing_field' : invalidOrUnknown, faults.join(' '));
  }
  const { name, categoryId, status = DEFAULT_STATUS } = given as Static<typeof NewPet>;
  return { name, categoryId, status };
}

/** A change of an animal: as the person saw it, and as it is to be. */
interface PetEdit {
  from: NewPet;
  to: NewPet;
}

/** Validates a change, `{"from": {name, categoryId, status}, "to": {some of them}}`: both are animals. */
export function newPetEdit(body: unknown, strictness: Strictness): PetEdit {
  const { from, to } = partsOf(body, ['from', 'to'], strictness);
  return { from: newPet(from, strictness), to: newPet({ ...from, ...to }, strictness) };
}

/** Validates a removal, `{"from": {name, categoryId, status}}`: the animal as the person saw it. */
export function newPetRemoval(body: unknown, strictness: Strictness): NewPet {
  return newPet(partsOf(body, ['from'], strictness).from, strictness);
}

function partsOf<Name extends string>(
  body: unknown,
  names: readonly Name[],
  { refuseUnknown }: Strictness,
): Record<Name, Record<string, unknown>> {
  const given = requireObject(body, 'The body');
  const [unknown] = refuseUnknown ? unknownIn(given, names) : [];
  if (unknown !== undefined) {
    throw new Refusal('unknown_field', `${unknown}; this body has only ${names.join(' and ')}.`);
  }
  const parts = names.map((name) => [name, requireObject(given[name], name)]);
  return Object.fromEntries(parts) as Record<Name, Record<string, unknown>>;
}

/** One sentence that names the unknown fields, or an empty list. */
function unknownIn(given: Record<string, unknown>, known: readonly string[]): string[] {
  const unknown = Object.keys(given).filter((field) => !known.includes(field));
  return unknown.length === 0 ? [] : [`Unknown fields: ${shownNames(unknown)}`];
}

function requireObject(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Refusal('invalid_json', `${name} must be a JSON object, not ${describe(value)}.`);
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`;
}
