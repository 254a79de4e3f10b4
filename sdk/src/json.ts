import type { NewPet, Pet } from './types.ts';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** Reads JSON with every integer as an exact bigint: JavaScript's own numbers round above 2^53. */
export function parseJson(text: string): unknown {
  return SOURCE_IS_GIVEN ? (JSON.parse(text, withSource) as unknown) : parseJsonByTokens(text);
}

function withSource(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? exactNumber(context?.source ?? '') : value;
}

const SOURCE_IS_GIVEN = typeof JSON.parse('1', withSource) === 'bigint';

const TOKEN = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * The same where JSON.parse hides the digits (Safari before 18.4, Firefox before 135): numbers become
 * texts marked with #, texts are marked with ', and the reviver undoes both.
 */
export function parseJsonByTokens(text: string): unknown {
  JSON.parse(text); // Throws for what is not JSON, so that the tokens below can be trusted.
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
  return /^-?\d+$/.test(source) ? BigInt(source) : Number(source);
}

/** Refuses a number that may have been rounded before it got here. */
export function toInt64(value: number | bigint, name: string): bigint {
  if (isInt64(value)) return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  throw new TypeError(`${name} must be a safe integer or an int64 as a bigint, not ${value}.`);
}

function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

/** Written by hand, because JSON.stringify knows no bigint. The service judges the values. */
export function writeNewPet({ name, categoryId, status }: NewPet): string {
  if (typeof name !== 'string') throw new TypeError('name must be a string.');
  const rest = status === undefined ? '' : `,"status":${JSON.stringify(status)}`;
  return `{"name":${JSON.stringify(name)},"categoryId":${toInt64(categoryId, 'categoryId')}${rest}}`;
}

/** Takes the fields of a Pet and leaves others, so that the interface can grow. */
export function readPet(json: unknown): Pet {
  const { id, name, categoryId, status: text } = Object(json) as Record<keyof Pet, unknown>;
  const status = PET_STATUSES.find((known) => known === text);
  if (isInt64(id) && isInt64(categoryId) && typeof name === 'string' && status !== undefined) {
    return { id, name, categoryId, status };
  }
  throw new TypeError('This is not a Pet.');
}
