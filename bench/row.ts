import { newFigure, type Figure } from './statistics.ts';

/** The target of a figure: a minimum or a maximum. */
export type Bound = { atLeast: number } | { atMost: number };

/** One line of the report. */
export interface Row {
  what: string;
  /** Such as "at least 0.95 × bare". Empty for a figure without a goal. */
  target: string;
  /** Such as "0.91 × bare (0.88 – 0.93)". Undefined if it was not measured; `note` then says why. */
  shown?: string;
  verdict: Verdict;
  rounds?: number;
  /** Whether the figure is a ratio of processor times, which a busy machine affects least. */
  isByProcessorTime: boolean;
  /** The rates or times that the figure was calculated from. */
  note: string;
}

export type Verdict = 'yes' | 'no' | 'within noise' | '';

export interface RowParts {
  what: string;
  bound?: Bound;
  /** The text after the number: "× bare", "ms", "rows/s". */
  unit: string;
  /** One per round. */
  values: readonly number[];
  isByProcessorTime?: boolean;
  note?: string;
}

export function newRow(parts: RowParts): Row {
  const { what, bound, unit, values, isByProcessorTime = false, note = '' } = parts;
  const figure = newFigure(values);
  const { low, high, rounds } = figure;
  const interval = Number.isFinite(low) ? ` (${quantity(low)} – ${quantity(high)})` : '';
  return {
    what,
    target: targetOf(bound, unit),
    shown: `${quantity(figure.median)} ${unit}${interval}`,
    verdict: bound === undefined ? '' : verdictOf(bound, figure),
    rounds,
    isByProcessorTime,
    note,
  };
}

export function unmeasuredRow(parts: Omit<RowParts, 'values'>, why: string): Row {
  const { what, bound, unit, isByProcessorTime = false } = parts;
  const target = targetOf(bound, unit);
  return { what, target, verdict: '', isByProcessorTime, note: why };
}

function targetOf(bound: Bound | undefined, unit: string): string {
  if (bound === undefined) return '';
  return 'atLeast' in bound
    ? `at least ${quantity(bound.atLeast)} ${unit}`
    : `at most ${quantity(bound.atMost)} ${unit}`;
}

/** Only an interval that is wholly on one side of the target decides. */
export function verdictOf(bound: Bound, { low, high }: Figure): Verdict {
  const [meets, misses] =
    'atLeast' in bound
      ? [low >= bound.atLeast, high < bound.atLeast]
      : [high <= bound.atMost, low > bound.atMost];
  if (meets) return 'yes';
  return misses ? 'no' : 'within noise';
}

/** A number for a person: two decimals below 10, one below 100, none above; none for an integer. */
export function quantity(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : 2);
}
