import type { NewPet, Pet } from './types.ts';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** Reads JSON with every integer as an exact bigint: numbers round above 2^53. */
export function parseJson(text: string): unknown {
  return SOURCE_IS_GIVEN ? JSON.parse(text, withSource) : parseJsonByTokens(text);
}

function withSource(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? exactNumber(context?.source ?? '') : value;
}

// `1.0` and `1e2` are integers too.
const INTEGER = /^(-?\d+)(?:\.((?:0*[1-9])*)0*)?(?:e\+?(\d+))?$/i;

const SOURCE_IS_GIVEN = typeof JSON.parse('1', withSource) === 'bigint';

const TOKEN = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * For engines without `source` (Safari before 18.4, Firefox before 135): marks numbers with # and strings
 * with ', then removes the marks.
 */
export function parseJsonByTokens(text: string): unknown {
  JSON.parse(text); // Refuses what is not JSON: TOKEN assumes that it is.
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
  const [, whole, fraction = '', exponent = 0] = INTEGER.exec(source) ?? [];
  const zeros = Number(exponent) - fraction.length;
  if (whole === undefined || zeros < 0 || zeros > 18) return Number(source);
  return BigInt(whole + fraction + '0'.repeat(zeros));
}

/** Refuses a number that may already be rounded. */
export function toInt64(value: number | bigint, name: string): bigint {
  if (isInt64(value)) return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  throw new TypeError(`${name} must be a safe integer or an int64 as a bigint, not ${value}.`);
}

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

/** By hand: JSON.stringify cannot write a bigint. The service judges the values. */
export function writeNewPet({ name, categoryId, status }: NewPet): string {
  if (typeof name !== 'string') throw new TypeError('name must be a string.');
  const rest = status === undefined ? '' : `,"status":${JSON.stringify(status)}`;
  return `{"name":${JSON.stringify(name)},"categoryId":${toInt64(categoryId, 'categoryId')}${rest}}`;
}

/** Ignores other fields, so that the interface can grow. */
export function readPet(json: unknown): Pet {
  const { id, name, categoryId, status: text } = Object(json) as Record<keyof Pet, unknown>;
  const status = PET_STATUSES.find((known) => known === text);
  if (isInt64(id) && isInt64(categoryId) && typeof name === 'string' && status !== undefined) {
    return { id, name, categoryId, status };
  }
  throw new TypeError('This is not a Pet.');
}
