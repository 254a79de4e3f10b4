import type { NewPet, Pet } from './types.ts';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

// `1.0` and `1e2` are integers too.
const INTEGER = /^(-?\d+)(?:\.((?:0*[1-9])*)0*)?(?:e\+?(\d+))?$/i;

/** A longer number is no int64. As a bigint, one of a million digits would take seconds to print. */
const INTEGER_LENGTH_MAX = 100;

const TOKEN = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON with every integer as an exact bigint, because numbers are rounded above 2^53. It marks
 * numbers with # and strings with ', then removes the marks: not every browser gives a reviver the source.
 */
export function parseJson(text: string): unknown {
  JSON.parse(text); // Throws if the text is not JSON: TOKEN is right only for valid JSON.
  const marked = text.replace(TOKEN, (token: string, string?: string, colon?: string) => {
    if (colon !== undefined) return token;
    return string === undefined ? `"#${token}"` : `"'${string}"`;
  });
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== 'string') return value;
    return value.startsWith('#') ? exactNumber(value.slice(1)) : value.slice(1);
  });
}

function exactNumber(source: string): bigint | number {
  if (source.length > INTEGER_LENGTH_MAX) return Number(source);
  const [, whole, fraction = '', exponent = 0] = INTEGER.exec(source) ?? [];
  const zeros = Number(exponent) - fraction.length;
  if (whole === undefined || zeros < 0 || zeros > 18) return Number(source);
  return BigInt(whole + fraction + '0'.repeat(zeros));
}

/** Throws for a number that JavaScript may have rounded. */
export function toInt64(value: number | bigint, name: string): bigint {
  if (isInt64(value)) return value;
  if (Number.isSafeInteger(value)) return BigInt(value);
  throw new TypeError(
    `${name} must be a safe integer or an int64 as a bigint, not ${shown(value)}.`,
  );
}

/** With quotes around a string: the most frequent mistake is "7" instead of 7. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

/** Not JSON.stringify, because it cannot write a bigint in every browser. The service validates the values. */
export function writeNewPet({ name, categoryId, status }: NewPet): string {
  if (typeof name !== 'string') throw new TypeError('name must be a string.');
  const rest = status === undefined ? '' : `,"status":${JSON.stringify(status)}`;
  return `{"name":${JSON.stringify(name)},"categoryId":${toInt64(categoryId, 'categoryId')}${rest}}`;
}

/** Ignores unknown fields, because a later service may add some. */
export function readPet(json: unknown): Pet {
  const { id, name, categoryId, status: text } = Object(json) as Record<keyof Pet, unknown>;
  const status = PET_STATUSES.find((known) => known === text);
  if (isInt64(id) && isInt64(categoryId) && typeof name === 'string' && status !== undefined) {
    // Not enumerable, so that a Pet compares and prints as its four fields.
    return Object.defineProperty({ id, name, categoryId, status }, 'toJSON', { value: petToJson });
  }
  throw new TypeError('This is not a Pet.');
}

/**
 * Writes JSON as JSON.stringify does, and every bigint as a number with all its digits. For objects that contain
 * animals, copies of animals or their ids.
 */
export function stringify(value: unknown, space?: string | number): string {
  return JSON.stringify(
    value,
    (_key, part: unknown) => (typeof part === 'bigint' ? jsonInteger(part) : part),
    space,
  );
}

/** Without it, JSON.stringify throws for a bigint. */
function petToJson(this: Pet): object {
  return { ...this, id: jsonInteger(this.id), categoryId: jsonInteger(this.categoryId) };
}

/** Without rawJSON, as in old browsers, an integer that would be rounded becomes a string. */
function jsonInteger(value: bigint): unknown {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  const text = String(value);
  return rawJSON?.(text) ?? (Number.isSafeInteger(Number(text)) ? Number(text) : text);
}
