import type { RoundResult, Row } from './bench.ts';
import { median, ratioFigure, type Figure } from './statistics.ts';

/** The target of a figure: a minimum or a maximum. */
export type Bound = { atLeast: number } | { atMost: number };

export interface RowParts {
  what: string;
  bound: Bound;
  /** The text after the number: "× bare", "ms", "rows/s". */
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
 * The throughput of one contender divided by that of another. Servers that keep their core busy are compared by
 * requests per second of processor time, if the system reports it: on a core of their own this is the rate, and
 * other work on the machine affects it less. Servers that wait for a disk or a database are compared by their
 * rate.
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

/** The processor time per request of one contender divided by that of another. */
export function costFigure(of: readonly RoundResult[], against: readonly RoundResult[]): Figure {
  const [costs, costsAgainst] = [costsOf(of), costsOf(against)];
  if (costs.length === of.length && costsAgainst.length === against.length) {
    return ratioFigure(costs, costsAgainst);
  }
  return ratioFigure(ratesOf(against), ratesOf(of));
}

/** The figures of a comparison: requests per second, and processor time per request. */
export function compareCosts(of: readonly RoundResult[], against: readonly RoundResult[]): string {
  const rates = [of, against].map((results) => quantity(median(ratesOf(results))));
  const costs = [of, against].map(costsOf);
  const text = `${rates.join(' against ')} requests/s`;
  if (costs.some(({ length }) => length === 0)) return text;
  const costTexts = costs.map((values) => median(values).toFixed(1));
  return `${text}; ${costTexts.join(' against ')} µs of processor time per request`;
}

function ratesOf(results: readonly RoundResult[]): number[] {
  return results.map(({ requestsPerSecond }) => requestsPerSecond);
}

function costsOf(results: readonly RoundResult[]): number[] {
  return results.flatMap(({ processorMicroseconds }) => processorMicroseconds ?? []);
}

/** A number for a person: two decimals below 10, one below 100, none above; none for an integer. */
export function quantity(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : 2);
}
