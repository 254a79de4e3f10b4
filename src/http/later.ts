/**
 * A value that is there at once, or later. Most requests are answered from memory without waiting for
 * anything, and a promise for each of their steps would be work for nothing.
 */
export type Later<Value> = Value | Promise<Value>;

/** Goes on with a value as soon as it is there: in the same breath if it is. */
export function whenThere<Value, Result>(
  value: Later<Value>,
  goOn: (value: Value) => Later<Result>,
): Later<Result> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
