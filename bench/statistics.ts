/** What the rounds of a measurement have shown: their median, and an interval that contains the true one. */
export interface Figure {
  median: number;
  /** -Infinity and Infinity if there are too few rounds for an interval. */
  low: number;
  high: number;
  rounds: number;
}

/**
 * How often an interval contains the true median. The rounds end as soon as an interval decides, so there are
 * many chances to err: with 98 % for each, a verdict of at most 20 rounds is a wrong "yes" in at most 2.1 % of
 * the runs, and a wrong "no" as often. The worst case is a true median that equals the goal.
 */
const CONFIDENCE = 0.98;
export const ROUNDS_MAX = 20;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) throw new Error('nothing was measured, so there is no median');
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function newFigure(values: readonly number[]): Figure {
  const sorted = values.toSorted((left, right) => left - right);
  const outside = valuesOutside(sorted.length);
  return {
    median: median(sorted),
    low: sorted[outside - 1] ?? Number.NEGATIVE_INFINITY,
    high: sorted[sorted.length - outside] ?? Number.POSITIVE_INFINITY,
    rounds: sorted.length,
  };
}

/**
 * The interval goes from the k-th lowest to the k-th highest value, for the largest k that is exact enough; 0 if
 * there is none. It misses the true median if fewer than k values are below it, or fewer than k above it. Each value
 * is below the true median with probability 1/2, whatever the distribution.
 */
export function valuesOutside(count: number): number {
  let probability = 0.5 ** count;
  let missed = 2 * probability;
  let outside = 0;
  while (missed <= 1 - CONFIDENCE && outside < count / 2) {
    outside += 1;
    probability *= (count - outside + 1) / outside;
    missed += 2 * probability;
  }
  return outside;
}
