import { isInt64 } from '../sdk/src/json.ts';
import { PET_STATUSES } from './specification.ts';

/** An animal as any service may return it: the specification does not require `status`. */
export interface SeenPet {
  id: bigint;
  name: string;
  categoryId: bigint;
  status?: string;
}

interface Field {
  name: string;
  /** What the specification states about the field, in words. */
  rule: string;
  holds: (value: unknown) => boolean;
}

const isText = (value: unknown) => typeof value === 'string';

export const PET_FIELDS = {
  id: { name: 'id', rule: 'an int64 written as a JSON number', holds: isInt64 },
  name: { name: 'name', rule: 'a string', holds: isText },
  categoryId: { name: 'categoryId', rule: 'an int64 written as a JSON number', holds: isInt64 },
  status: {
    name: 'status',
    rule: `one of ${PET_STATUSES.join(', ')}, or left out`,
    holds: (value) => value === undefined || PET_STATUSES.some((status) => status === value),
  },
} as const satisfies Record<string, Field>;

export const ERROR_FIELDS = {
  code: { name: 'code', rule: 'a string', holds: isText },
  message: { name: 'message', rule: 'a string', holds: isText },
  status: { name: 'status', rule: 'an integer', holds: isInt64 },
} as const satisfies Record<string, Field>;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Says what is wrong with one field of an object, or returns undefined. */
export function findFieldFault(value: unknown, field: Field): string | undefined {
  if (!isRecord(value)) return `${show(value)} is not an object`;
  // An inherited property, such as `constructor`, is not part of the response.
  const given = Object.hasOwn(value, field.name) ? value[field.name] : undefined;
  return field.holds(given) ? undefined : `${field.name} must be ${field.rule}, not ${show(given)}`;
}

export function findPetFault(value: unknown): string | undefined {
  return firstFault(value, Object.values(PET_FIELDS));
}

export function findErrorFault(value: unknown): string | undefined {
  return firstFault(value, Object.values(ERROR_FIELDS));
}

function firstFault(value: unknown, fields: Field[]): string | undefined {
  return fields
    .map((field) => findFieldFault(value, field))
    .find((fault): fault is string => fault !== undefined);
}

/** A value as text. It is not shortened here, because the report could not hide a part of a key. */
export function show(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'bigint') return String(value);
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  );
}
