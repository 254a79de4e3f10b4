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

/**
 * How many times the throughput of another. Servers that keep a core busy are compared by the requests
 * that a second of processor time answers, where the system tells it: on a core of their own that is the
 * rate itself, and what others do on the machine counts for less. Those that wait, for a disk or a
 * database, are compared by their rate.
 */
export function throughputRow(parts: {
  what: string;
  bound: Bound;
  unit: string;
  of: readonly RoundResult[] | undefined;
  against: readonly RoundResult[] | undefined;
  keepsBusy: boolean;
}): Row {
  const { what, bound, unit, of = [], against = [], keepsBusy } = parts;
  const figure = keepsBusy ? costFigure(against, of) : ratioFigure(ratesOf(of), ratesOf(against));
  return newRow({ what, bound, unit, figure, note: compareCosts(of, against) });
}

/** How many times the processor time of another a request costs. */
export function costFigure(of: readonly RoundResult[], against: readonly RoundResult[]): Figure {
  const [costs, costsAgainst] = [costsOf(of), costsOf(against)];
  if (costs.length === of.length && costsAgainst.length === against.length) {
    return ratioFigure(costs, costsAgainst);
  }
  return ratioFigure(ratesOf(against), ratesOf(of));
}

/** The figures behind a comparison: requests a second, and processor time a request. */
export function compareCosts(of: readonly RoundResult[], against: readonly RoundResult[]): string {
  const rates = [of, against].map((results) => quantity(median(ratesOf(results))));
  const costs = [of, against].map(costsOf);
  const text = `${rates.join(' against ')} requests/s`;
  if (costs.some(({ length }) => length === 0)) return text;
  const costTexts = costs.map((values) => median(values).toFixed(1));
  return `${text}; ${costTexts.join(' against ')} µs of processor each`;
}

function ratesOf(results: readonly RoundResult[]): number[] {
  return results.map(({ requestsPerSecond }) => requestsPerSecond);
}

function costsOf(results: readonly RoundResult[]): number[] {
  return results.flatMap(({ processorMicroseconds }) => processorMicroseconds ?? []);
}

/** A number as a person reads it: two digits after the point where they matter, none above a hundred. */
export function quantity(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : 2);
}
