import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import { openRegistry, type Exposition } from './exposition.ts';
import { Metrics, type Series } from './metrics.ts';

/** When a worker is killed, only the counts since its last report are lost. */
const REPORT_INTERVAL_MS = 1_000;
/** If a worker does not respond within this time, its last report is used. */
const REPORT_MS_MAX = 500;
const REQUEST = 'report metrics';

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
