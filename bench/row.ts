import { median, newFigure, ratioFigure, type Figure } from './statistics.ts';

/** The target of a figure: a minimum or a maximum. */
export type Bound = { atLeast: number } | { atMost: number };

/** One line of the report. */
export interface Row {
  what: string;
  /** Such as "at least 0.95 × bare". */
  target: string;
  /** Such as "0.91 × bare (0.88 – 0.93)". Undefined if it was not measured; `note` then says why. */
  shown?: string;
  verdict: Verdict;
  /** Whether the figure is a ratio of processor times, which a busy machine affects least. */
  isByProcessorTime: boolean;
  /** The rates or times that the figure was calculated from, unless the report has them elsewhere. */
  note: string;
}

export type Verdict = 'yes' | 'no' | 'within noise' | '';

export interface RowParts {
  what: string;
  bound: Bound;
  /** The text after the number: "× bare", "ms", "rows/s". */
  unit: string;
  figure: Figure;
  isByProcessorTime?: boolean;
  note?: string;
}

export function newRow(parts: RowParts): Row {
  const { what, bound, unit, figure, isByProcessorTime = false, note = '' } = parts;
  const { lowest, highest } = figure;
  const range = lowest === highest ? '' : ` (${quantity(lowest)} – ${quantity(highest)})`;
  return {
    what,
    target: targetOf(bound, unit),
    shown: `${quantity(figure.median)} ${unit}${range}`,
    verdict: verdictOf(bound, figure),
    isByProcessorTime,
    note,
  };
}

export function unmeasuredRow(parts: Omit<RowParts, 'figure'>, why: string): Row {
  const { what, bound, unit, isByProcessorTime = false } = parts;
  const target = targetOf(bound, unit);
  return { what, target, verdict: '', isByProcessorTime, note: `not measured: ${why}` };
}

function targetOf(bound: Bound, unit: string): string {
  return 'atLeast' in bound
    ? `at least ${quantity(bound.atLeast)} ${unit}`
    : `at most ${quantity(bound.atMost)} ${unit}`;
}

/** Only a range that is wholly on one side of the target decides. */
function verdictOf(bound: Bound, { lowest, highest }: Figure): Verdict {
  const [meets, misses] =
    'atLeast' in bound
      ? [lowest >= bound.atLeast, highest < bound.atLeast]
      : [highest <= bound.atMost, lowest > bound.atMost];
  if (meets) return 'yes';
  return misses ? 'no' : 'within noise';
}

/** What a comparison needs of a round. */
export interface Round {
  requestsPerSecond: number;
  /** The processor time per request; undefined where the system does not report it. */
  processorMicroseconds: number | undefined;
}

/** The processor time per request of one contender divided by that of another; by rates where it is not known. */
export function costRatio(of: readonly Round[], against: readonly Round[]): Figure {
  const [costs, costsAgainst] = [costsOf(of), costsOf(against)];
  if (costs.length === of.length && costsAgainst.length === against.length) {
    return ratioFigure(costs, costsAgainst);
  }
  return rateRatio(against, of);
}

export function rateRatio(of: readonly Round[], against: readonly Round[]): Figure {
  return ratioFigure(ratesOf(of), ratesOf(against));
}

/** The processor time per request; undefined where the system does not report it. */
export function costFigure(rounds: readonly Round[]): Figure | undefined {
  const costs = costsOf(rounds);
  return costs.length === 0 ? undefined : newFigure(costs);
}

/** For a row whose costs are nowhere else in the report. */
export function compareCosts(of: readonly Round[], against: readonly Round[]): string {
  const figures = [of, against].map((rounds) => costFigure(rounds)?.median.toFixed(1) ?? '–');
  return `${figures.join(' against ')} µs of processor time per request`;
}

export function compareRates(of: readonly Round[], against: readonly Round[]): string {
  const rates = [of, against].map((rounds) => quantity(median(ratesOf(rounds))));
  return `${rates.join(' against ')} requests/s`;
}

function ratesOf(rounds: readonly Round[]): number[] {
  return rounds.map(({ requestsPerSecond }) => requestsPerSecond);
}

function costsOf(rounds: readonly Round[]): number[] {
  return rounds.flatMap(({ processorMicroseconds }) => processorMicroseconds ?? []);
}

/** A number for a person: two decimals below 10, one below 100, none above; none for an integer. */
export function quantity(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : 2);
}
