export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** The most decimal digits an int64 has. */
const INT64_DIGITS_MAX = 19;

/**
 * An exact int64. In memory it is a bigint, because JavaScript's numbers round above 2^53; on the wire
 * it is a JSON number, and the OpenAPI document calls it `integer` with format `int64`.
 */
export const Int64 = { type: 'bigint', minimum: INT64_MIN, maximum: INT64_MAX } as const;

const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads the text of a JSON number as an exact integer: `1.0` and `1e2` are integers, as JSON Schema has
 * it, `1.5` is not. Answers undefined for what is not an integer or lies outside int64. The work is
 * bounded by the length of the text, also for `1e999999999`.
 */
export function parseInt64(source: string): bigint | undefined {
  const match = JSON_NUMBER.exec(source);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;

  const significant = (whole + fraction).replace(/^0+/, '');
  // The look behind keeps the work linear: a run of zeros is tried once, and not again from each of them.
  const digits = significant.replace(/(?<!0)0+$/, '');
  if (digits === '') return 0n;

  // The value is digits × 10^zeros.
  const zeros = significant.length - digits.length - fraction.length + Number(exponentText);
  if (zeros < 0 || digits.length + zeros > INT64_DIGITS_MAX) return undefined;

  const value = BigInt(sign + digits + '0'.repeat(zeros));
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}
