import { collectDefaultMetrics, Counter, Gauge, Registry, type Metric } from 'prom-client';
import { LATENCY_BOUNDS_MS, type Latency, type Metrics } from './metrics.ts';

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

/** The registry of the service's own metrics. Each read takes the current values of the counters. */
export function openRegistry(metrics: Metrics): Registry {
  const registry = new Registry();
  const inFlight = new Gauge({
    name: 'petstore_requests_in_flight',
    help: 'Requests without a response so far.',
    registers: [],
    collect() {
      this.set(metrics.inFlight);
    },
  });
  const petsCreated = new Counter({
    name: 'petstore_pets_created_total',
    help: 'Animals added.',
    registers: [],
    collect() {
      this.reset();
      this.inc(metrics.petsCreated);
    },
  });
  const deprecatedCalls = new Counter({
    name: 'petstore_deprecated_calls_total',
    help: 'Calls of deprecated operations, by the id of the API key.',
    labelNames: ['key_id'],
    registers: [],
    collect() {
      this.reset();
      for (const [keyId, calls] of metrics.deprecatedCalls) this.inc({ key_id: keyId }, calls);
    },
  });
  for (const metric of [inFlight, petsCreated, deprecatedCalls]) registry.registerMetric(metric);
  // The library's histogram records one observation at a time, which would cost more than the request.
  // A registry only reads the values of a metric, so this object implements only that.
  registry.registerMetric({
    name: LATENCY_NAME,
    get: async () => ({
      name: LATENCY_NAME,
      help: 'Time from the head of a request to its response, by operation and status.',
      type: 'histogram',
      aggregator: 'sum',
      values: metrics.latencies().flatMap(latencyValues),
    }),
  } as unknown as Metric);
  return registry;
}

const LATENCY_NAME = 'petstore_request_duration_seconds';

function latencyValues({ operation, status, count, sumMs, buckets }: Latency) {
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
