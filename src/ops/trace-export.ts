// Sends spans to a collector, in batches. A collector that is away costs a bounded number of spans and no more.

import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attributes, Tracer } from '@opentelemetry/api';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { ReadableSpan, Sampler, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from './log.ts';
import type { TraceSettings } from './trace-settings.ts';

/** Spans that wait for the collector. Further ones are dropped. */
const WAITING_SPANS_MAX = 2_048;
const BATCH_SPANS_MAX = 512;
const BATCH_DELAY_MS = 1_000;
/** The longest that one batch is tried, also when the service is closed. It is dropped afterwards. */
const EXPORT_MS_MAX = 3_000;

export interface OpenTracer {
  tracer: Tracer;
  /** Sends the spans that are left, if the collector responds in time. */
  close(): Promise<void>;
}

/** `resource` is what traces say of this process, in addition to the settings. */
export function openTracer(settings: TraceSettings, log: Log, resource: Attributes): OpenTracer {
  const { url, headers, serviceName, resourceAttributes } = settings;
  const http = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const agent: Agent = new http.Agent({ keepAlive: true });
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: EXPORT_MS_MAX,
    httpAgentOptions: () => agent,
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({ ...resource, ...resourceAttributes, 'service.name': serviceName }),
    ),
    sampler: samplerOf(settings),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new ReportingExporter(exporter, log),
        maxQueueSize: WAITING_SPANS_MAX,
        maxExportBatchSize: BATCH_SPANS_MAX,
        scheduledDelayMillis: BATCH_DELAY_MS,
        exportTimeoutMillis: EXPORT_MS_MAX,
      }),
    ],
  });
  return {
    tracer: provider.getTracer('petstore'),
    async close() {
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, sleep(EXPORT_MS_MAX, undefined, { ref: false })]);
      // Nothing else ends a connection to a collector that does not respond.
      agent.destroy();
    },
  };
}

function samplerOf({ sampler, samplerRatio }: TraceSettings): Sampler {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(samplerRatio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

/** Logs one line when the collector stops responding, and one when it responds again. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Log;
  #isFailing = false;

  constructor(exporter: SpanExporter, log: Log) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #report({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) {
      this.#log.warn(
        { reason: error?.message },
        'the collector does not take traces; they are dropped until it does',
      );
    } else {
      this.#log.info('the collector takes traces again');
    }
  }
}
