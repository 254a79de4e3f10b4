/** A figure that was measured several times. */
export interface Figure {
  median: number;
  lowest: number;
  highest: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) throw new Error('nothing was measured, so there is no median');
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function newFigure(values: readonly number[]): Figure {
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}

/**
 * Divides the values of one contender by those of another, round by round. Other work on the machine affects two
 * adjacent rounds alike, so their ratio varies less than the ratio of two medians.
 */
export function ratioFigure(values: readonly number[], against: readonly number[]): Figure {
  if (values.length !== against.length) throw new Error('every round needs a counterpart');
  return newFigure(values.map((value, round) => value / (against[round] ?? Number.NaN)));
}

/** The inverse of every value. */
export function inverse({ median: middle, lowest, highest }: Figure): Figure {
  return { median: 1 / middle, lowest: 1 / highest, highest: 1 / lowest };
}
