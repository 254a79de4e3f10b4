import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import { openRegistry, type Exposition } from './exposition.ts';
import { Metrics, type Series } from './metrics.ts';

/** A worker that is killed takes with it what it has counted since its last report, and no more. */
const REPORT_INTERVAL_MS = 1_000;
/** A worker that does not respond for this long is exposed as it was last known. */
const REPORT_MS_MAX = 500;
const REQUEST = 'report metrics';

type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

interface Report {
  metrics: MetricValues[];
  isRequested: boolean;
}

/** In a worker: reports its counters now and every second, and all of its metrics on request. */
export function startReports(metrics: Metrics): { end(): Promise<void> } {
  const counters = openRegistry(metrics);
  const runtime = new Registry();
  collectDefaultMetrics({ register: runtime });
  const report = async (isRequested: boolean) => {
    // The runtime's delays are measured from one look to the next: only a scrape may look.
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

/** In the primary: the metrics of all workers, added up. A counter also keeps what ended workers counted. */
export class WorkersExposition implements Exposition {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #running = new Map<Worker, RunningWorker>();
  #ended: Promise<MetricValues[]>;

  constructor(series: readonly Series[]) {
    this.#ended = openRegistry(new Metrics(series)).getMetricsAsJSON();
    cluster.on('message', (worker, message: Partial<Report>) => {
      if (message.metrics !== undefined) this.#take(worker, message.metrics, message.isRequested);
    });
    // A worker's exit may be seen before its last report; the end of its channel is not.
    cluster.on('disconnect', (worker) => this.#remove(worker));
  }

  /** Waits for nobody but workers that have reported before, and for them not long. */
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

/** A worker that has not responded to the last request is not sent another. */
function request(worker: Worker, running: RunningWorker): Promise<void> {
  if (running.requested === undefined) {
    running.requested = Promise.withResolvers();
    worker.send(REQUEST, () => undefined);
  }
  return running.requested.promise;
}
