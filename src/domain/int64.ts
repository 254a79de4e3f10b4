export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** The largest number of decimal digits of an int64. */
const INT64_DIGITS_MAX = 19;

/**
 * An exact int64. It is a bigint in memory, because JavaScript rounds numbers above 2^53. It is a JSON
 * number on the wire, and `integer` with format `int64` in the OpenAPI document.
 */
export const Int64 = { type: 'bigint', minimum: INT64_MIN, maximum: INT64_MAX } as const;

const TYPED = /^-?\d{1,19}$/;

/** Parses digits that a person has typed. */
export function parseTypedInt64(text: string): bigint | undefined {
  return TYPED.test(text) ? int64OrUndefined(BigInt(text)) : undefined;
}

const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Converts the text of a JSON number to an exact integer. As in JSON Schema, `1.0` and `1e2` are integers
 * and `1.5` is not. Returns undefined if the number is not an integer or is outside int64. The work is
 * bounded by the length of the text, even for `1e999999999`.
 */
export function parseInt64(source: string): bigint | undefined {
  const match = JSON_NUMBER.exec(source);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;

  const significant = (whole + fraction).replace(/^0+/, '');
  // The lookbehind keeps the work linear: a run of zeros is tried once, not once from each zero.
  const digits = significant.replace(/(?<!0)0+$/, '');
  if (digits === '') return 0n;

  // The value is digits × 10^zeros.
  const zeros = significant.length - digits.length - fraction.length + Number(exponentText);
  if (zeros < 0 || digits.length + zeros > INT64_DIGITS_MAX) return undefined;

  return int64OrUndefined(BigInt(sign + digits + '0'.repeat(zeros)));
}

function int64OrUndefined(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}
