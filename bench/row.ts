import type { RoundResult, Row } from './bench.ts';
import { median, ratioFigure, type Figure } from './statistics.ts';

/** A figure that must reach a bound from below (`atLeast`) or stay under one (`atMost`). */
export type Bound = { atLeast: number } | { atMost: number };

export interface RowParts {
  what: string;
  bound: Bound;
  /** What stands behind the number: "× bare", "ms", "rows/s". */
  unit: string;
  figure: Figure;
  note: string;
}

export function newRow({ what, bound, unit, figure, note }: RowParts): Row {
  const isFloor = 'atLeast' in bound;
  const limit = isFloor ? bound.atLeast : bound.atMost;
  const reached = isFloor ? figure.median / limit : limit / figure.median;
  return {
    what,
    target: `${isFloor ? 'at least' : 'at most'} ${quantity(limit)} ${unit}`,
    shown: `${quantity(figure.median)} ${unit} (${quantity(figure.lowest)} – ${quantity(figure.highest)})`,
    isMet: reached >= 1,
    note,
    reached,
  };
}

export function unmeasuredRow(what: string, target: string, why: string): Row {
  return { what, target, shown: undefined, isMet: undefined, note: why, reached: undefined };
}

/** How many times the throughput of another. */
export function throughputRow(parts: {
  what: string;
  bound: Bound;
  unit: string;
  of: readonly RoundResult[] | undefined;
  against: readonly RoundResult[] | undefined;
}): Row {
  const { what, bound, unit } = parts;
  const of = ratesOf(parts.of);
  const against = ratesOf(parts.against);
  return newRow({
    what,
    bound,
    unit,
    figure: ratioFigure(of, against),
    note: compareCosts(parts.of, parts.against),
  });
}

/** The figures behind a comparison: requests a second, and processor time a request. */
export function compareCosts(
  of: readonly RoundResult[] | undefined,
  against: readonly RoundResult[] | undefined,
): string {
  const rates = [of, against].map((results) => quantity(median(ratesOf(results))));
  const costs = [of, against].map((results) =>
    (results ?? []).flatMap(({ processorMicroseconds }) => processorMicroseconds ?? []),
  );
  const hasCosts = costs.every(({ length }) => length > 0);
  const cost = costs.map((values) => (hasCosts ? median(values).toFixed(1) : '')).join(' against ');
  return `${rates.join(' against ')} requests/s${hasCosts ? `; ${cost} µs of processor each` : ''}`;
}

export function ratesOf(results: readonly RoundResult[] | undefined): number[] {
  return (results ?? []).map(({ requestsPerSecond }) => requestsPerSecond);
}

/** A number as a person reads it: two digits after the point where they matter, none above a hundred. */
export function quantity(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : 2);
}
