/** Upper bounds of the latency buckets. */
export const LATENCY_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

export type Series = readonly [operation: string, status: number];

export interface Latency {
  operation: string;
  status: number;
  count: number;
  sumMs: number;
  /** The number of requests in each bucket. The last bucket is for those above all bounds. */
  buckets: number[];
}

/**
 * Counts requests. Counting is a few additions on plain numbers, because every request pays for it.
 * exposition.ts converts the counts to the format of Prometheus when `/metrics` is requested.
 */
export class Metrics {
  readonly #latencies = new Map<string, Map<number, Latency>>();
  readonly deprecatedCalls = new Map<string, number>();
  inFlight = 0;
  petsCreated = 0;

  /** The given series exist from the start, with the value 0. */
  constructor(series: readonly Series[]) {
    for (const [operation, status] of series) this.#latency(operation, status);
  }

  requestStarted(): void {
    this.inFlight += 1;
  }

  requestEnded(operation: string, status: number, durationMs: number): void {
    this.inFlight -= 1;
    const latency = this.#latency(operation, status);
    latency.count += 1;
    latency.sumMs += durationMs;
    let bucket = 0;
    while (durationMs > (LATENCY_BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    latency.buckets[bucket] = (latency.buckets[bucket] ?? 0) + 1;
  }

  deprecatedCall(keyId: string): void {
    this.deprecatedCalls.set(keyId, (this.deprecatedCalls.get(keyId) ?? 0) + 1);
  }

  latencies(): Latency[] {
    return [...this.#latencies.values()].flatMap((byStatus) => [...byStatus.values()]);
  }

  #latency(operation: string, status: number): Latency {
    const byStatus = this.#latencies.getOrInsertComputed(operation, () => new Map());
    return byStatus.getOrInsertComputed(status, () => ({
      operation,
      status,
      count: 0,
      sumMs: 0,
      buckets: LATENCY_BOUNDS_MS.map(() => 0).concat(0),
    }));
  }
}
