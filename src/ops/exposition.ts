import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, collectDefaultMetrics, Registry, type Metric } from 'prom-client';
import { LATENCY_BOUNDS_MS, Metrics, type Latency, type Series } from './metrics.ts';

/** When a worker is killed, only the counts since its last report are lost. */
const REPORT_INTERVAL_MS = 1_000;
/** If a worker does not respond within this time, its last report is used. */
const REPORT_MS_MAX = 500;
const REQUEST = 'report metrics';

/** The response of `/metrics`. */
export interface Exposition {
  contentType: string;
  text(): Promise<string>;
}

/** The metrics of this process. */
export function openExposition(metrics: Metrics): Exposition {
  const registry = openRegistry(metrics);
  // The metrics of the runtime, such as the delay of the event loop.
  collectDefaultMetrics({ register: registry });
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

/** The registry of the service's own metrics. Each read takes the current counts. */
function openRegistry(metrics: Metrics): Registry {
  const registry = new Registry();
  // The library's classes record one observation at a time, which would cost more than the request. A
  // registry only reads the values of a metric, so these objects implement only that.
  const add = (name: string, type: string, help: string, values: () => Value[]) => {
    const get = async () => ({ name, help, type, aggregator: 'sum', values: values() });
    registry.registerMetric({ name, get } as unknown as Metric);
  };
  add('petstore_requests_in_flight', 'gauge', 'Requests without a response so far.', () => [
    { labels: {}, value: metrics.inFlight },
  ]);
  add('petstore_pets_created_total', 'counter', 'Animals added.', () => [
    { labels: {}, value: metrics.petsCreated },
  ]);
  add(
    'petstore_deprecated_calls_total',
    'counter',
    'Calls of deprecated operations, by the id of the API key.',
    () =>
      [...metrics.deprecatedCalls].map(([keyId, value]) => ({ labels: { key_id: keyId }, value })),
  );
  add(
    LATENCY_NAME,
    'histogram',
    'Time from the head of a request to its response, by operation and status.',
    () => metrics.latencies().flatMap(latencyValues),
  );
  return registry;
}

const LATENCY_NAME = 'petstore_request_duration_seconds';

interface Value {
  metricName?: string;
  labels: Record<string, string | number>;
  value: number;
}

function latencyValues({ operation, status, count, sumMs, buckets }: Latency): Value[] {
  const labels = { operation, status };
  let below = 0;
  const bucketValues = buckets.map((inBucket, index) => {
    below += inBucket;
    const bound = LATENCY_BOUNDS_MS[index];
    const le = bound === undefined ? '+Inf' : String(bound / 1000);
    return { metricName: `${LATENCY_NAME}_bucket`, labels: { ...labels, le }, value: below };
  });
  return [
    ...bucketValues,
    { metricName: `${LATENCY_NAME}_sum`, labels, value: sumMs / 1000 },
    { metricName: `${LATENCY_NAME}_count`, labels, value: count },
  ];
}

type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

interface Report {
  metrics: MetricValues[];
  isRequested: boolean;
}

/** Runs in a worker. Reports the counters at once and every second, and all metrics on request. */
export function startReports(metrics: Metrics): { end(): Promise<void> } {
  const counters = openRegistry(metrics);
  const runtime = new Registry();
  collectDefaultMetrics({ register: runtime });
  const report = async (isRequested: boolean) => {
    // Reading the delays of the runtime resets them, so only a scrape reads them.
    const registries = isRequested ? [counters, runtime] : [counters];
    const values = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
    const message: Report = { metrics: values.flat(), isRequested };
    await new Promise((resolve) => process.send?.(message, undefined, undefined, resolve));
  };
  process.on('message', (message) => {
    if (message === REQUEST) void report(true);
  });
  const timer = setInterval(() => void report(false), REPORT_INTERVAL_MS).unref();
  void report(false);
  return {
    end() {
      clearInterval(timer);
      return report(false);
    },
  };
}

interface RunningWorker {
  metrics: Map<string, MetricValues>;
  requested: PromiseWithResolvers<void> | undefined;
}

/** Runs in the primary. Adds up the metrics of all workers; counters include those of ended workers. */
export class WorkersExposition implements Exposition {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #running = new Map<Worker, RunningWorker>();
  #ended: Promise<MetricValues[]>;

  constructor(series: readonly Series[]) {
    this.#ended = openRegistry(new Metrics(series)).getMetricsAsJSON();
    cluster.on('message', (worker, message: Partial<Report>) => {
      if (message.metrics !== undefined) this.#take(worker, message.metrics, message.isRequested);
    });
    // The last report may arrive after the exit event of the worker, but never after the end of its channel.
    cluster.on('disconnect', (worker) => this.#remove(worker));
  }

  /** Waits only for workers that have reported before, and for at most REPORT_MS_MAX. */
  async text(): Promise<string> {
    const requests = [...this.#running].map(([worker, running]) => request(worker, running));
    await Promise.race([Promise.all(requests), sleep(REPORT_MS_MAX, undefined, { ref: false })]);
    const reports = [...this.#running.values()].map(({ metrics }) => [...metrics.values()]);
    return AggregatorRegistry.aggregate([await this.#ended, ...reports]).metrics();
  }

  #take(worker: Worker, metrics: MetricValues[], isRequested = false): void {
    const running = this.#running.getOrInsertComputed(worker, () => ({
      metrics: new Map(),
      requested: undefined,
    }));
    for (const metric of metrics) running.metrics.set(metric.name, metric);
    if (!isRequested) return;
    running.requested?.resolve();
    running.requested = undefined;
  }

  #remove(worker: Worker): void {
    const running = this.#running.get(worker);
    if (running === undefined) return;
    this.#running.delete(worker);
    running.requested?.resolve();
    const counters = [...running.metrics.values()].filter(({ type }) =>
      ['counter', 'histogram'].includes(String(type)),
    );
    this.#ended = this.#ended.then((ended) =>
      AggregatorRegistry.aggregate([ended, counters]).getMetricsAsJSON(),
    );
  }
}

/** Sends no second request to a worker that has not responded to the first one. */
function request(worker: Worker, running: RunningWorker): Promise<void> {
  if (running.requested === undefined) {
    running.requested = Promise.withResolvers();
    worker.send(REQUEST, () => undefined);
  }
  return running.requested.promise;
}
