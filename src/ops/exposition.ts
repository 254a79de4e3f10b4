import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { Figure } from './metrics.ts';

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

type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

function addUp(processes: readonly (readonly Figure[])[]): Registry {
  return AggregatorRegistry.aggregate(processes as readonly unknown[] as MetricValues[]);
}
