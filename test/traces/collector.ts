import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span in the JSON of OTLP. */
export interface Span {
  traceId: string;
  spanId: string;
  /** Undefined for the first span of a trace. */
  parentSpanId?: string;
  name: string;
  /** 2 is SERVER, 3 is CLIENT. */
  kind: number;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

interface ExportRequest {
  resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
}

export interface Collector {
  endpoint: string;
  spans: Span[];
  /** The body of each request. */
  bodies: string[];
  /** The distinct paths of the requests. */
  paths: Set<string>;
  close(): Promise<void>;
}

/** Runs a collector that takes OTLP over HTTP as JSON, on a free port. */
export async function startCollector(): Promise<Collector> {
  const spans: Span[] = [];
  const bodies: string[] = [];
  const paths = new Set<string>();
  const take = (path: string, body: string) => {
    bodies.push(body);
    paths.add(path);
    if (path !== '/v1/traces') return;
    const { resourceSpans } = JSON.parse(body) as ExportRequest;
    const scopes = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans);
    spans.push(...scopes.flatMap((scope) => scope.spans));
  };
  const server = createServer((request, response) => {
    void text(request)
      .then((body) => take(request.url ?? '', body))
      .finally(() => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    paths,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
