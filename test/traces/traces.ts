// Traces that OpenTelemetry makes without code of the service, as docs/monitoring.md describes.
// `npm run test:traces` runs this file. The packages have their own lock file, because the service does not need them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { parseEnv } from 'node:util';
import { needs, OLDER_NODE } from '../../harness/needs.ts';
import { installPackage, olderNode, packService, REPOSITORY } from '../packaging/packages.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { MAIN, type RunOptions } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { installTools, toolsFolder } from '../../harness/tools.ts';
import { startCollector, type Collector, type Span } from './collector.ts';

/** The file that docs/monitoring.md tells to write beside the packages. */
const LOADER = join(toolsFolder(import.meta.dirname), 'traces.mjs');
const SETTINGS = parseEnv(readFileSync(join(REPOSITORY, 'contrib', 'traces.env'), 'utf8'));
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_ID = 'b7ad6b7169203331';

const skip = await installTools(import.meta.dirname);
before(async () => {
  if (skip !== false) return;
  await writeFile(LOADER, "import '@opentelemetry/auto-instrumentations-node/register';\n");
});

interface Traced {
  collector: Collector;
  key: string;
  /** The spans of the requests: a create, a list that continues a trace, and a list with a wrong key. */
  requests: Span[];
}

/** Runs the service with OpenTelemetry, sends three requests and stops it. */
async function traceRequests(
  t: TestContext,
  flags: readonly string[],
  command?: RunOptions['command'],
): Promise<Traced> {
  const collector = await startCollector();
  t.after(() => collector.close());
  const env = {
    ...(SETTINGS as Record<string, string>),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    NODE_OPTIONS: `--import=${LOADER}`,
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
  return { collector, key, requests: collector.spans.filter(({ kind }) => kind === 2) };
}

function valueOf({ attributes }: Span, name: string): string | number | undefined {
  const value = attributes.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value?.intValue;
}

/** Each request has its span, also the last ones before the stop, and the trace of the caller is continued. */
function assertTraced({ collector, requests }: Traced): void {
  assert.equal(requests.length, 3);
  assert.deepEqual(
    new Set(requests.map((span) => `${span.name} ${valueOf(span, 'http.response.status_code')}`)),
    new Set(['POST 201', 'GET 200', 'GET 401']),
  );
  const continued = requests.filter(({ parentSpanId }) => parentSpanId === CALLER_ID);
  assert.deepEqual(
    continued.map((span) => [span.traceId, valueOf(span, 'url.query')]),
    [[TRACE_ID, 'limit=7']],
  );
  assert.deepEqual([...collector.paths], ['/v1/traces'], 'the writer thread exports nothing');
}

test('each request is a span that continues the trace of its caller', { skip }, async (t) => {
  assertTraced(await traceRequests(t, ['--data', temporaryFolder(t)]));
});

test('each worker sends its spans, also the last ones before a stop', { skip }, async (t) => {
  assertTraced(await traceRequests(t, ['--data', temporaryFolder(t), '--workers', '2']));
});

test(
  'a statement on PostgreSQL is a span below its request, and no span has a key, a body or a value',
  { skip },
  async (t) => {
    const postgres = await PostgresServer.start();
    t.after(() => postgres.stop('immediate'));
    const database = postgres.url(await postgres.createDatabase());
    const traced = await traceRequests(t, ['--database', database]);
    assertTraced(traced);
    const { collector, key, requests } = traced;
    const statements = requests.map(({ name, spanId }) => [
      name,
      ...collector.spans.filter((each) => each.parentSpanId === spanId).map((each) => each.name),
    ]);
    // The pool has a span of its own.
    const isSpanned = (method: string, statement: string) =>
      statements.some(
        ([name, ...below]) => name === method && below.some((each) => each.startsWith(statement)),
      );
    assert.ok(isSpanned('POST', 'pg.query:createPets'));
    assert.ok(isSpanned('GET', 'pg.query:listPets'));
    const received = collector.bodies.join('\n');
    for (const secret of [key, 'Rex', 'claim-of-a-caller', 'a-password-for-tests']) {
      assert.equal(received.includes(secret), false, secret);
    }
  },
);

test('the npm package sends its spans', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const file = await packService(folder);
  const { program } = await installPackage(folder, file, ['--offline', '--omit=optional']);
  const flags = ['--data', temporaryFolder(t)];
  assertTraced(await traceRequests(t, flags, [process.execPath, program]));
});

const older = olderNode();
test(
  'an older Node.js passes OpenTelemetry on to the one that it starts',
  { skip: skip || needs(OLDER_NODE, older !== undefined) },
  async (t) => {
    const flags = ['--data', temporaryFolder(t)];
    assertTraced(await traceRequests(t, flags, [older ?? '', MAIN]));
  },
);
