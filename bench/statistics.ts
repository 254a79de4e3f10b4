/** What the rounds have shown: their median, and a 95 % interval that contains the true one. */
export interface Figure {
  median: number;
  /** -Infinity and Infinity if there are too few rounds for an interval. */
  low: number;
  high: number;
}

/** A goal for a ratio or a figure: a minimum or a maximum. */
export type Bound = { atLeast: number } | { atMost: number };

const CONFIDENCE = 0.95;

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
  };
}

/**
 * The interval goes from the k-th lowest to the k-th highest value, for the largest k that is exact enough; 0 if
 * no k is. It misses the true median if fewer than k values are below it, or fewer than k above it. Each value
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

/** Only an interval that is wholly on one side of the goal decides. */
export function verdictOf(bound: Bound, { low, high }: Figure): 'yes' | 'no' | 'within noise' {
  const [meets, misses] =
    'atLeast' in bound
      ? [low >= bound.atLeast, high < bound.atLeast]
      : [high <= bound.atMost, low > bound.atMost];
  if (meets) return 'yes';
  return misses ? 'no' : 'within noise';
}

/** The ratios of what was measured in the same rounds. */
export function ratiosOf(values: readonly number[], against: readonly number[]): number[] {
  if (values.length !== against.length) throw new Error('every value needs a counterpart');
  return values.map((value, index) => value / (against[index] ?? Number.NaN));
}

/** A number for a person: two decimals below 10, one below 100, none above; none for an integer. */
export function quantity(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : 2);
}
