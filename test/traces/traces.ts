// Traces that OpenTelemetry makes without code of the service, as docs/monitoring.md describes.
// `npm run test:traces` runs this file. The packages have their own lock file, because the service does not need them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { parseEnv } from 'node:util';
import { MAIN, type RunOptions } from '../../harness/command.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { installTools, toolsFolder } from '../../harness/tools.ts';
import { installPackage, olderNode, packService, REPOSITORY } from '../packaging/packages.ts';

const SETTINGS = parseEnv(readFileSync(join(REPOSITORY, 'contrib', 'traces.env'), 'utf8'));
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_ID = 'b7ad6b7169203331';
/** As OpenTelemetry numbers the kinds of spans. */
const SERVER = 2;

const skip = await installTools(import.meta.dirname);

/** A span in the JSON of OTLP. The first one of a trace has no parent. */
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

/** Runs a service that sends its traces here, with three requests, and returns what arrived. */
async function trace(t: TestContext, flags: readonly string[], command?: RunOptions['command']) {
  const received: [path: string | undefined, body: string][] = [];
  const collector = createServer((request, response) => {
    void text(request)
      .then((body) => received.push([request.url, body]))
      .finally(() => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  t.after(() => collector.close().closeAllConnections());
  // The file that docs/monitoring.md tells to write beside the packages.
  const loader = join(toolsFolder(import.meta.dirname), 'traces.mjs');
  writeFileSync(loader, "import '@opentelemetry/auto-instrumentations-node/register';\n");
  const env = {
    ...(SETTINGS as Record<string, string>),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    NODE_OPTIONS: `--import=${loader}`,
  };
  const service = await serve(t, flags, { env, ...(command !== undefined && { command }) });
  const { baseUrl, key } = service;
  const authorization = `Bearer ${key}`;
  const created = await send(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization, 'idempotency-key': 'claim-of-a-caller' },
    body: '{"name":"Rex of Secrets","categoryId":1}',
  });
  const traceparent = `00-${TRACE_ID}-${CALLER_ID}-01`;
  const listed = await send(`${baseUrl}/pets?limit=7`, { headers: { authorization, traceparent } });
  const refused = await send(`${baseUrl}/pets`, { headers: { authorization: `${key}x` } });
  assert.deepEqual([created.status, listed.status, refused.status], [201, 200, 401]);
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0, service.stderr());

  const paths = new Set(received.map(([path]) => path));
  assert.deepEqual([...paths], ['/v1/traces'], 'the writer thread exports nothing');
  const bodies = received.map(([, body]) => body);
  const spans = bodies
    .map((body) => JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] })
    .flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))
    .flatMap((scope) => scope.spans);
  assertRequests(spans.filter(({ kind }) => kind === SERVER));
  return { key, bodies, spans };
}

/** Each request has its span, also the last ones before the stop, and the trace of the caller is continued. */
function assertRequests(spans: readonly Span[]): void {
  const valueOf = ({ attributes }: Span, name: string) =>
    Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];
  const requests = spans.map(
    (span) => `${span.name} ${valueOf(span, 'http.response.status_code')}`,
  );
  assert.deepEqual(requests.toSorted(), ['GET 200', 'GET 401', 'POST 201']);
  const continued = spans.filter(({ parentSpanId }) => parentSpanId === CALLER_ID);
  assert.deepEqual(
    continued.map((span) => [span.traceId, valueOf(span, 'url.query')]),
    [[TRACE_ID, 'limit=7']],
  );
}

test(
  'each worker sends its spans, started by an older Node.js where there is one',
  { skip },
  async (t) => {
    const command = [olderNode() ?? process.execPath, MAIN] as const;
    await trace(t, ['--data', temporaryFolder(t), '--workers', '2'], command);
  },
);

test('the npm package sends its spans', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const file = await packService(folder);
  const { program } = await installPackage(folder, file, ['--offline', '--omit=optional']);
  await trace(t, ['--data', folder], [process.execPath, program]);
});

test(
  'a statement on PostgreSQL is a span below its request, and no span has a key, a body or a value',
  { skip },
  async (t) => {
    const postgres = await PostgresServer.start();
    t.after(() => postgres.stop('immediate'));
    const { key, bodies, spans } = await trace(t, ['--database', postgres.url()]);
    // The pool has a span of its own.
    const parentOf = (statement: string) =>
      spans
        .filter(({ name }) => name.startsWith(statement))
        .flatMap(({ parentSpanId }) => spans.filter(({ spanId }) => spanId === parentSpanId))
        .map(({ name }) => name);
    assert.deepEqual(parentOf('pg.query:createPets'), ['POST']);
    assert.deepEqual(parentOf('pg.query:listPets'), ['GET']);
    for (const secret of [key, 'Rex', 'claim-of-a-caller', 'a-password-for-tests']) {
      assert.ok(!bodies.join('\n').includes(secret), secret);
    }
  },
);
