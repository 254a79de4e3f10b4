import type { Clock } from '../../domain/clock.ts';
import { ERROR_CODES, ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Figure, FigureValue } from '../../ops/metrics.ts';

export const SPAN_MS = 300_000;
/** Five minutes of samples, and one more for the first rate. */
const SAMPLES_MAX = 61;
const INTERVAL_MS = SPAN_MS / (SAMPLES_MAX - 1);

/** Cumulative counts by upper bound in seconds, in ascending order, as Prometheus has them. */
export type Buckets = ReadonlyMap<number, number>;

/** The figures that the charts need, at one moment. Counts are totals since the start. */
export interface Sample {
  at: Date;
  elapsedMs: number;
  reads: number;
  creates: number;
  others: number;
  refused: number;
  failed: number;
  errors: ReadonlyMap<string, number>;
  cacheHits: number;
  cacheMisses: number;
  latency: Buckets;
  commits: Buckets;
  inFlight: number;
  writesWaiting: number;
  /** Undefined on a store whose reads never wait. */
  readsWaiting: number | undefined;
  memoryBytes: number | undefined;
}

/** A response that was the fault of the service. */
export interface Failure {
  at: Date;
  code: ErrorCode;
  /** The store could be read, and could not be written. */
  isOfWrite: boolean;
}

const FAILURE_CODES = ERROR_CODES.filter((code) => ERRORS[code].status >= 500);

/** The samples of the last five minutes, and the last failure since the start. */
export class History {
  readonly #read: () => Figure[] | Promise<Figure[]>;
  readonly #clock: Clock;
  readonly samples: Sample[] = [];
  readonly intervalMs: number;
  lastFailure: Failure | undefined;

  constructor(
    read: () => Figure[] | Promise<Figure[]>,
    { clock, intervalMs = INTERVAL_MS }: { clock: Clock; intervalMs?: number | undefined },
  ) {
    this.#read = read;
    this.#clock = clock;
    this.intervalMs = intervalMs;
  }

  async figures(): Promise<FigureReader> {
    return new FigureReader(await this.#read());
  }

  async take(): Promise<void> {
    const figures = await this.figures();
    const [at, elapsedMs] = [this.#clock.now(), this.#clock.elapsedMs()];
    const sample = { at, elapsedMs, ...measure(figures) };
    const before = this.samples.at(-1)?.errors ?? sample.errors;
    const code = FAILURE_CODES.find((each) => sample.errors.get(each) !== before.get(each));
    if (code !== undefined) {
      const isOfWrite = code === 'unavailable' && figures.find('petstore_last_write_failed') === 1;
      this.lastFailure = { at, code, isOfWrite };
    }
    this.samples.push(sample);
    if (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }
}

/** Finds values among figures. */
export class FigureReader {
  readonly #byName: ReadonlyMap<string, FigureValue[]>;

  constructor(figures: readonly Figure[]) {
    const values = figures.flatMap(({ name, values: all }) =>
      all.map((value) => ({ ...value, metricName: value.metricName ?? name })),
    );
    this.#byName = Map.groupBy(values, ({ metricName }) => metricName);
  }

  values(name: string): readonly FigureValue[] {
    return this.#byName.get(name) ?? [];
  }

  /** The sum of the values whose labels are wanted, or undefined if there is no such figure. */
  find(
    name: string,
    isWanted: (labels: FigureValue['labels']) => boolean = () => true,
  ): number | undefined {
    const found = this.#byName.get(name)?.filter(({ labels }) => isWanted(labels));
    return found?.reduce((sum, { value }) => sum + value, 0);
  }

  buckets(
    name: string,
    isWanted: (labels: FigureValue['labels']) => boolean = () => true,
  ): Buckets {
    const sums = new Map<number, number>();
    for (const { labels, value } of this.values(`${name}_bucket`)) {
      if (!isWanted(labels)) continue;
      const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      sums.set(bound, (sums.get(bound) ?? 0) + value);
    }
    return sums;
  }
}

const READS: unknown[] = ['listPets', 'getPet'];
const DURATION = 'petstore_request_duration_seconds';

function measure(figures: FigureReader): Omit<Sample, 'at' | 'elapsedMs'> {
  const requests = (isWanted: (labels: FigureValue['labels']) => boolean) =>
    figures.find(`${DURATION}_count`, isWanted) ?? 0;
  const errors = figures.values('petstore_errors_total');
  return {
    reads: requests(({ operation }) => READS.includes(operation)),
    creates: requests(({ operation }) => operation === 'createPet'),
    others: requests(({ operation }) => operation === 'other'),
    refused: requests(({ status }) => Number(status) >= 400 && Number(status) < 500),
    failed: requests(({ status }) => Number(status) >= 500),
    errors: new Map(errors.map(({ labels, value }) => [String(labels['code']), value])),
    cacheHits: figures.find('petstore_cache_hits_total') ?? 0,
    cacheMisses: figures.find('petstore_cache_misses_total') ?? 0,
    latency: figures.buckets(DURATION, ({ operation }) => operation !== 'other'),
    commits: figures.buckets('petstore_commit_duration_seconds'),
    inFlight: figures.find('petstore_requests_in_flight') ?? 0,
    writesWaiting: figures.find('petstore_writes_waiting') ?? 0,
    readsWaiting: figures.find('petstore_reads_waiting'),
    memoryBytes: figures.find('process_resident_memory_bytes'),
  };
}
