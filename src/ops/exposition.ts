import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { Figure } from './metrics.ts';

/** When a worker is killed, only the counts since its last report are lost. */
const REPORT_INTERVAL_MS = 1_000;
/** If a worker does not respond within this time, its last report is used. */
const REPORT_MS_MAX = 500;

/** Left out of the metrics of the runtime. */
const REMOVED_METRICS = [
  // Gauges that are named like counters. The sums of other metrics have the same values.
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  // The service reports its resident memory itself. The other two are address space, and most of it is not used.
  'process_resident_memory_bytes',
  'process_virtual_memory_bytes',
  'process_heap_bytes',
];

/** The response of `/metrics`. */
export interface Exposition {
  contentType: string;
  text(): Promise<string>;
}

/** The metrics of this process. */
export function openExposition(figures: () => Figure[]): Exposition {
  const runtime = openRuntimeRegistry();
  return {
    contentType: runtime.contentType,
    text: async () => `${await addUp([figures()]).metrics()}\n${await runtime.metrics()}`,
  };
}

/** The metrics of the runtime, such as the delay of the event loop. */
function openRuntimeRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of REMOVED_METRICS) registry.removeSingleMetric(name);
  return registry;
}

type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

/** Adds up the metrics of several processes. */
function addUp(processes: readonly (readonly (Figure | MetricValues)[])[]): Registry {
  return AggregatorRegistry.aggregate(processes as MetricValues[][]);
}

/** What a worker tells the primary. */
export interface Report {
  metrics: (Figure | MetricValues)[];
  isRequested: boolean;
}

/** Runs in a worker. Reports its figures at once and every second, and those of the runtime on request. */
export class Reporter {
  readonly #figures: () => Figure[];
  readonly #send: (report: Report) => Promise<void>;
  readonly #runtime = openRuntimeRegistry();
  readonly #timer = setInterval(() => void this.report(false), REPORT_INTERVAL_MS).unref();

  constructor(figures: () => Figure[], send: (report: Report) => Promise<void>) {
    this.#figures = figures;
    this.#send = send;
    void this.report(false);
  }

  async report(isRequested: boolean): Promise<void> {
    // Reading the delays of the runtime resets them, so only a scrape reads them.
    const ofRuntime = isRequested ? await this.#runtime.getMetricsAsJSON() : [];
    await this.#send({ metrics: [...this.#figures(), ...ofRuntime], isRequested });
  }

  end(): Promise<void> {
    clearInterval(this.#timer);
    return this.report(false);
  }
}

interface RunningWorker {
  metrics: Map<string, Figure | MetricValues>;
  requested: PromiseWithResolvers<void> | undefined;
}

/** Runs in the primary. Adds up the metrics of all workers; counters include those of ended workers. */
export class WorkersExposition<Worker extends object> implements Exposition {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #request: (worker: Worker) => void;
  readonly #running = new Map<Worker, RunningWorker>();
  #ended: Promise<(Figure | MetricValues)[]>;

  /** `initial` are the figures of a worker before its first request; `request` asks a worker for a report. */
  constructor(initial: readonly Figure[], request: (worker: Worker) => void) {
    this.#request = request;
    this.#ended = Promise.resolve(initial.filter(isCounted));
  }

  /** Waits only for workers that have reported before, and for at most REPORT_MS_MAX. */
  async text(): Promise<string> {
    const requests = [...this.#running].map(([worker, running]) => this.#ask(worker, running));
    await Promise.race([Promise.all(requests), sleep(REPORT_MS_MAX, undefined, { ref: false })]);
    return (await this.#sum()).metrics();
  }

  /** The figures of the last reports. */
  async figures(): Promise<Figure[]> {
    return (await (await this.#sum()).getMetricsAsJSON()) as (Figure | MetricValues)[] as Figure[];
  }

  /** Asks no worker a second time that has not responded to the first one. */
  #ask(worker: Worker, running: RunningWorker): Promise<void> {
    if (running.requested === undefined) {
      running.requested = Promise.withResolvers();
      this.#request(worker);
    }
    return running.requested.promise;
  }

  async #sum(): Promise<Registry> {
    const reports = [...this.#running.values()].map(({ metrics }) => [...metrics.values()]);
    return addUp([await this.#ended, ...reports]);
  }

  take(worker: Worker, { metrics, isRequested }: Report): void {
    const running = this.#running.getOrInsertComputed(worker, () => ({
      metrics: new Map(),
      requested: undefined,
    }));
    for (const metric of metrics) running.metrics.set(metric.name, metric);
    if (!isRequested) return;
    running.requested?.resolve();
    running.requested = undefined;
  }

  remove(worker: Worker): void {
    const running = this.#running.get(worker);
    if (running === undefined) return;
    this.#running.delete(worker);
    running.requested?.resolve();
    const counters = [...running.metrics.values()].filter(isCounted);
    this.#ended = this.#ended.then((ended) => addUp([ended, counters]).getMetricsAsJSON());
  }
}

/** Whether the metric counts events, so that those of an ended process must stay. */
function isCounted({ type }: Figure | MetricValues): boolean {
  return ['counter', 'histogram'].includes(String(type));
}
