import type { Buckets, Sample } from './history.ts';

/** One line of a chart: a value for each sample, or undefined where nothing was measured. */
export interface Line {
  name: string;
  values: readonly (number | undefined)[];
}

export interface Chart {
  title: string;
  /** What the lines show, in a few words. */
  note: string;
  lines: readonly Line[];
  format: (value: number) => string;
  /** Its first line counts failures. */
  kind?: 'failures';
}

const MIB = 1024 * 1024;
const MEDIAN = 0.5;
const P99 = 0.99;

export function chartsOfRequests(samples: readonly Sample[]): Chart[] {
  const rate = (pick: (sample: Sample) => number) => ratesOf(samples, pick);
  return [
    {
      title: 'Requests',
      note: 'per second',
      lines: [
        { name: 'Reads', values: rate(({ reads }) => reads) },
        { name: 'Creates', values: rate(({ creates }) => creates) },
        { name: 'Other', values: rate(({ others }) => others) },
      ],
      format: formatRate,
    },
    {
      title: 'Latency',
      note: 'time per request',
      lines: quantilesOf(samples, ({ latency }) => latency),
      format: formatMilliseconds,
    },
    {
      title: 'Errors',
      kind: 'failures',
      note: 'responses per second',
      lines: [
        { name: '5xx', values: rate(({ failed }) => failed) },
        { name: '4xx', values: rate(({ refused }) => refused) },
      ],
      format: formatRate,
    },
  ];
}

export function chartsOfResources(samples: readonly Sample[]): Chart[] {
  const gauge = (pick: (sample: Sample) => number | undefined) => samples.map(pick);
  const hasReadQueue = samples.some(({ readsWaiting }) => readsWaiting !== undefined);
  return [
    {
      title: 'Queue',
      note: 'at each moment',
      lines: [
        { name: 'In flight', values: gauge(({ inFlight }) => inFlight) },
        { name: 'Writes waiting', values: gauge(({ writesWaiting }) => writesWaiting) },
        ...(hasReadQueue
          ? [{ name: 'Reads waiting', values: gauge(({ readsWaiting = 0 }) => readsWaiting) }]
          : []),
      ],
      format: formatCount,
    },
    {
      title: 'Commits',
      note: 'time per batch of writes',
      lines: quantilesOf(samples, ({ commits }) => commits),
      format: formatMilliseconds,
    },
    {
      title: 'Memory',
      note: 'resident',
      lines: [{ name: 'Memory', values: gauge(({ memoryBytes: bytes }) => bytes && bytes / MIB) }],
      format: (value) => `${formatCount(value)} MiB`,
    },
  ];
}

/** How much a count grew from the sample before, per second. A count that was reset has not grown. */
function ratesOf(
  samples: readonly Sample[],
  pick: (sample: Sample) => number,
): (number | undefined)[] {
  return samples.map((sample, index) => {
    const before = samples[index - 1];
    if (before === undefined) return undefined;
    const seconds = (sample.elapsedMs - before.elapsedMs) / 1000;
    return Math.max(0, pick(sample) - pick(before)) / seconds;
  });
}

function quantilesOf(samples: readonly Sample[], pick: (sample: Sample) => Buckets): Line[] {
  const milliseconds = (quantile: number) =>
    samples.map((sample, index) => {
      const before = samples[index - 1];
      return before && quantileOf(pick(before), pick(sample), quantile);
    });
  return [
    { name: 'p99', values: milliseconds(P99) },
    { name: 'Median', values: milliseconds(MEDIAN) },
  ];
}

/** A quantile of what was counted between two samples, in milliseconds: interpolated, as Prometheus does. */
export function quantileOf(before: Buckets, after: Buckets, quantile: number): number | undefined {
  const grown = [...after].map(([bound, count]) => ({
    bound,
    count: count - (before.get(bound) ?? 0),
  }));
  const wanted = (grown.at(-1)?.count ?? 0) * quantile;
  if (!(wanted > 0)) return undefined;
  let lower = { bound: 0, count: 0 };
  for (const bucket of grown) {
    if (bucket.count >= wanted) {
      if (bucket.bound === Number.POSITIVE_INFINITY) break;
      const share = (wanted - lower.count) / (bucket.count - lower.count);
      return 1000 * (lower.bound + share * (bucket.bound - lower.bound));
    }
    lower = bucket;
  }
  // The value is above all bounds. The highest bound is the best estimate.
  return 1000 * lower.bound;
}

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** Small numbers have one decimal. */
function formatRate(value: number): string {
  const digits = value < 10 ? 1 : 0;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

function formatMilliseconds(value: number): string {
  return value >= 1000 ? `${formatRate(value / 1000)} s` : `${formatRate(value)} ms`;
}
