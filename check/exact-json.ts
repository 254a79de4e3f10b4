import { parseInt64 } from '../src/domain/int64.ts';

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

const exact: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined ? (parseInt64(source) ?? value) : value;

/**
 * Reads JSON without losing a digit: every integer within int64 becomes a bigint, taken from the text
 * itself because JavaScript's numbers round above 2^53. What stays a number is no int64.
 */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown);
}
