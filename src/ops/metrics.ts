// What the parts of the service count about themselves.

import { ERROR_CODES, type ErrorCode } from '../domain/errors.ts';

/** A part of the service that reports about itself. */
export interface Measured {
  figures(): Figure[];
}

/** One metric with its current values, as `/metrics` shows it. */
export interface Figure {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  values: FigureValue[];
}

export interface FigureValue {
  /** The name of this value where it differs from that of the metric, as in a histogram. */
  metricName?: string;
  labels: Record<string, string | number>;
  value: number;
}

/** One value, or one for each value of a label. */
type Values = number | { label: string; byLabel: Iterable<readonly [string, number]> };

export function counter(name: string, help: string, values: Values): Figure {
  return { name, help, type: 'counter', values: valuesOf(values) };
}

export function gauge(name: string, help: string, values: Values): Figure {
  return { name, help, type: 'gauge', values: valuesOf(values) };
}

function valuesOf(values: Values): FigureValue[] {
  if (typeof values === 'number') return [{ labels: {}, value: values }];
  const { label, byLabel } = values;
  return [...byLabel].map(([of, value]) => ({ labels: { [label]: of }, value }));
}

/** Counts values in buckets. Counting is a few additions on plain numbers, because every request pays for it. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** The last bucket is for the values above all bounds. */
  readonly #buckets: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#buckets = bounds.map(() => 0).concat(0);
  }

  add(value: number): void {
    this.#sum += value;
    let bucket = 0;
    while (value > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
  }

  figure(name: string, help: string, divisor = 1): Figure {
    return { name, help, type: 'histogram', values: this.values(name, divisor) };
  }

  /** The values of a figure, divided by `divisor`: 1000 reports milliseconds as seconds. */
  values(name: string, divisor = 1, labels: FigureValue['labels'] = {}): FigureValue[] {
    let count = 0;
    const buckets = this.#buckets.map((inBucket, index) => {
      count += inBucket;
      const bound = this.#bounds[index];
      const le = bound === undefined ? '+Inf' : String(bound / divisor);
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum / divisor },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

/** Upper bounds of the latency buckets. */
export const LATENCY_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

type Series = readonly [operation: string, status: number];

/** Counts requests. exposition.ts converts the counts to the format of Prometheus when `/metrics` is requested. */
export class Metrics implements Measured {
  readonly #latencies = new Map<string, Map<number, Histogram>>();
  readonly #errors = new Map<ErrorCode, number>(ERROR_CODES.map((code) => [code, 0]));
  inFlight = 0;
  petsCreated = 0;

  /** The given series and every error code exist from the start, with the value 0. */
  constructor(series: readonly Series[]) {
    for (const [operation, status] of series) this.#latency(operation, status);
  }

  requestStarted(): void {
    this.inFlight += 1;
  }

  requestEnded(operation: string, status: number, durationMs: number): void {
    this.inFlight -= 1;
    this.#latency(operation, status).add(durationMs);
  }

  error(code: ErrorCode): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }

  figures(): Figure[] {
    const duration = 'petstore_request_duration_seconds';
    return [
      {
        name: duration,
        help: 'Time from the head of a request to its response, by operation and status.',
        type: 'histogram',
        values: [...this.#latencies].flatMap(([operation, byStatus]) =>
          [...byStatus].flatMap(([status, latency]) =>
            latency.values(duration, 1000, { operation, status }),
          ),
        ),
      },
      gauge('petstore_requests_in_flight', 'Requests without a response so far.', this.inFlight),
      counter('petstore_errors_total', 'Error responses, by code.', {
        label: 'code',
        byLabel: this.#errors,
      }),
      counter('petstore_pets_created_total', 'Animals added.', this.petsCreated),
    ];
  }

  #latency(operation: string, status: number): Histogram {
    const byStatus = this.#latencies.getOrInsertComputed(operation, () => new Map());
    return byStatus.getOrInsertComputed(status, () => new Histogram(LATENCY_BOUNDS_MS));
  }
}
