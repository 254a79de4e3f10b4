import { Refusal } from './errors.ts';
import { parseInt64 } from './int64.ts';
import type { Pet } from './pet.ts';

/** What a text must hold for a number in it to be rounded, or to be no integer. */
const NEEDS_CARE = /\d{16}|\d[.eE]/;

/**
 * Reads JSON without rounding: an integer within int64 becomes a bigint with its exact digits, any other
 * number stays a number (and so is no integer to whoever validates it).
 */
export function parseJson(text: string): unknown {
  try {
    // Asking about every value takes three times as long as reading them all, and few texts need it.
    if (!NEEDS_CARE.test(text)) return integersAsBigints(JSON.parse(text));
    return JSON.parse(text, exactInteger as (key: string, value: unknown) => unknown);
  } catch (cause) {
    const isTooDeep = cause instanceof RangeError;
    const fault = isTooDeep ? 'nested too deeply' : 'not valid JSON';
    throw new Refusal('invalid_json', `The body is ${fault}.`, { cause });
  }
}

/** Every number in the value is an integer that was not rounded. */
function integersAsBigints(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (typeof value !== 'object' || value === null) return value;
  const parts = value as Record<string, unknown>;
  for (const name of Object.keys(parts)) parts[name] = integersAsBigints(parts[name]);
  return value;
}

/** The third argument, with the text a value was read from, is newer than TypeScript's declarations. */
function exactInteger(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  return parseInt64(context.source) ?? value;
}

export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}
