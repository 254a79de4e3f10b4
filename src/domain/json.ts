import { Refusal } from './errors.ts';
import { parseInt64 } from './int64.ts';
import type { Pet } from './pet.ts';

/**
 * Reads JSON without rounding: an integer within int64 becomes a bigint with its exact digits, any other
 * number stays a number (and so is no integer to whoever validates it).
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, exactInteger as (key: string, value: unknown) => unknown);
  } catch (cause) {
    const isTooDeep = cause instanceof RangeError;
    const fault = isTooDeep ? 'nested too deeply' : 'not valid JSON';
    throw new Refusal('invalid_json', `The body is ${fault}.`, { cause });
  }
}

/** The third argument, with the text a value was read from, is newer than TypeScript's declarations. */
function exactInteger(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  return parseInt64(context.source) ?? value;
}

export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** The id in what petJson wrote. */
export function idOfPetJson(json: string): bigint {
  return BigInt(json.slice('{"id":'.length, json.indexOf(',')));
}
