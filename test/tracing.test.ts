// Traces, as a collector receives them.

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { loadConfig } from '../src/config.ts';
import { startCollector, type Collector, type ReceivedSpan } from './collector.ts';
import { send, sqliteStorage, startTestService, type TestService } from './test-service.ts';
import { run, serve, temporaryFolder } from './test-process.ts';

const PATIENT = { timeout: 60_000, interval: 50 };
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_ID = 'b7ad6b7169203331';

async function collectorFor(t: TestContext, options = {}): Promise<Collector> {
  const collector = await startCollector(options);
  t.after(() => collector.close());
  return collector;
}

async function startTraced(
  t: TestContext,
  endpoint: string,
  ...flags: string[]
): Promise<TestService> {
  const service = await startTestService(sqliteStorage, {
    flags: ['--otlp-endpoint', endpoint, ...flags],
  });
  t.after(() => service.close());
  return service;
}

function create(service: TestService, headers = {}) {
  const body = '{"name":"Rex of Secrets","categoryId":1}';
  return service.send('/pets', { method: 'POST', body, headers });
}

async function untilRequests(t: TestContext, { spans }: Collector, count: number) {
  const requests = () => spans.filter(({ kind }) => kind === 2);
  await t.waitFor(() => assert.ok(requests().length >= count), PATIENT);
  return requests();
}

const childOf = ({ spans }: Collector, parent: ReceivedSpan | undefined) =>
  spans.filter(({ parentId }) => parentId === parent?.spanId);

test('each request is a span, and each of its store calls a span below it', async (t) => {
  const collector = await collectorFor(t);
  const service = await startTraced(
    t,
    `${collector.endpoint}/`,
    '--otlp-headers',
    'x-token=a%20b',
    '--resource-attributes',
    'service.namespace=shop',
  );
  await create(service);
  await service.send('/pets?status=sold&limit=7');
  await service.send('/pets/1');
  await service.send('/pets/99');
  await service.send('/pets/1', { method: 'PROPFIND' });
  await service.send('/secret-path');
  await send(service.baseUrl.replace('/v1', '/livez'));

  const requests = await untilRequests(t, collector, 7);
  assert.deepEqual(
    requests.map((span) => [
      span.name,
      span.attributes,
      childOf(collector, span).map(({ name, kind }) => [name, kind]),
    ]),
    [
      ['POST', '/v1/pets', 201, undefined, 'createPet'],
      ['GET', '/v1/pets', 200, undefined, 'listPetJson'],
      ['GET', '/v1/pets/{petId}', 200, undefined, 'findPet'],
      ['GET', '/v1/pets/{petId}', 404, 'pet_not_found', 'findPet'],
      ['_OTHER', '/v1/pets/{petId}', 405, 'method_not_allowed'],
      ['GET', undefined, 404, 'route_not_found'],
      ['GET', '/livez', 200],
    ].map(([method, route, status, error, call]) => [
      [method === '_OTHER' ? 'HTTP' : method, ...(route === undefined ? [] : [route])].join(' '),
      {
        'http.request.method': method,
        ...(route !== undefined && { 'http.route': route }),
        'http.response.status_code': status,
        ...(error !== undefined && { 'error.type': error }),
      },
      call === undefined ? [] : [[call, 3]],
    ]),
  );
  for (const { parentId, status } of requests) assert.deepEqual([parentId, status], ['', 0]);
  const [stored] = childOf(collector, requests[0]);
  assert.deepEqual(stored?.attributes, {
    'db.system.name': 'sqlite',
    'db.operation.name': 'createPet',
  });
  assert.equal(stored?.traceId, requests[0]?.traceId);
  assert.ok(Number(stored?.durationNs) <= Number(requests[0]?.durationNs));
  assert.equal(stored?.resource['service.name'], 'petstore');
  assert.equal(stored?.resource['service.namespace'], 'shop');
  assert.equal(stored?.resource['deployment.environment.name'], 'production');
  assert.equal(collector.headers[0]?.['x-token'], 'a b');
});

test('no span has a key, a name, a query or an unknown path', async (t) => {
  const collector = await collectorFor(t);
  const service = await startTraced(t, collector.endpoint);
  await create(service, { 'idempotency-key': 'claim-of-a-caller' });
  await service.send('/pets?limit=7&secret-parameter=1');
  await service.send(`/pets/${service.key}`);
  await service.send(`/${service.key}`);
  await service.send(`/pets?key=${service.key}`, { headers: { authorization: '' } });
  await untilRequests(t, collector, 5);
  const received = collector.received();
  assert.match(received, /http\.route/);
  for (const secret of [service.key, 'Rex', 'secret', 'limit', 'claim-of-a-caller']) {
    assert.equal(received.includes(secret), false, secret);
  }
});

test('the trace of the caller is continued, with its tracestate and its sampled flag', async (t) => {
  const collector = await collectorFor(t);
  const service = await startTraced(t, collector.endpoint);
  const traceparent = (flags: string) => ({ traceparent: `00-${TRACE_ID}-${CALLER_ID}-${flags}` });
  await service.send('/pets', { headers: { ...traceparent('00'), tracestate: 'shop=no' } });
  await service.send('/pets', { headers: { ...traceparent('01'), tracestate: 'shop=yes' } });
  await service.send('/pets', { headers: { traceparent: 'nonsense' } });
  const [sampled, other] = await untilRequests(t, collector, 2);
  assert.deepEqual(
    [sampled?.traceId, sampled?.parentId, sampled?.traceState],
    [TRACE_ID, CALLER_ID, 'shop=yes'],
  );
  assert.deepEqual(
    childOf(collector, sampled).map(({ traceId, traceState }) => [traceId, traceState]),
    [[TRACE_ID, 'shop=yes']],
  );
  assert.notEqual(other?.traceId, TRACE_ID);
  assert.doesNotMatch(collector.received(), /shop=no/);
  const logged = service.logLines.map((line) => (JSON.parse(line) as { traceId?: string }).traceId);
  assert.deepEqual(logged, [TRACE_ID, TRACE_ID, other?.traceId], 'the log names the trace');
});

test('a sampler by ratio takes no request at 0', async (t) => {
  const collector = await collectorFor(t);
  const ratio = ['--trace-sampler', 'traceidratio', '--trace-sampler-arg', '0'];
  const service = await startTestService(sqliteStorage, {
    flags: ['--otlp-endpoint', collector.endpoint, ...ratio],
  });
  await service.send('/pets', { headers: { traceparent: `00-${TRACE_ID}-${CALLER_ID}-01` } });
  await service.close();
  assert.deepEqual(collector.spans, []);
});

test('a collector that fails or is away costs one line of the log; afterwards traces arrive again', async (t) => {
  const failing = await startCollector({ status: 400 });
  const service = await startTraced(t, failing.endpoint);
  const warnings = () => service.logLines.filter((line) => line.includes('does not take traces'));
  await t.waitFor(async () => {
    assert.equal((await service.send('/pets')).status, 200);
    assert.ok(failing.headers.length >= 3, 'three batches were refused');
  }, PATIENT);
  await failing.close();
  assert.equal((await service.send('/pets')).status, 200);
  assert.match(warnings()[0] ?? '', /"reason":"Bad Request"/);

  const working = await collectorFor(t, { port: failing.port });
  await t.waitFor(async () => {
    assert.equal((await service.send('/pets')).status, 200);
    assert.ok(working.spans.length > 0);
    assert.ok(service.logLines.some((line) => line.includes('takes traces again')));
  }, PATIENT);
  assert.equal(warnings().length, 1);
});

test('closing does not wait long for a collector that never responds', async (t) => {
  const collector = await collectorFor(t, { status: 0 });
  const flags = ['--otlp-endpoint', collector.endpoint];
  const service = await startTestService(sqliteStorage, { flags });
  await service.send('/pets');
  const startedMs = performance.now();
  await service.close();
  assert.ok(performance.now() - startedMs < 20_000);
});

/** Makes a process write the URL of each module of OpenTelemetry that it loads. */
const REPORT_LOADED = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      if (url.includes('/@opentelemetry/')) process.stderr.write('loaded ' + url + '\\n');
      return next(url, context);
    },
  });`)}`;

test('a stop sends the last spans of every worker', async (t) => {
  const collector = await collectorFor(t);
  const service = await serve(t, ['--data', temporaryFolder(t), '--workers', '2'], {
    env: {
      NODE_OPTIONS: REPORT_LOADED,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_SERVICE_NAME: 'shop',
    },
  });
  const headers = { authorization: `Bearer ${service.key}` };
  for (let count = 0; count < 8; count += 1) await send(`${service.baseUrl}/pets`, { headers });
  service.kill('SIGTERM');
  assert.equal(await service.ended, 0);
  assert.match(service.stderr(), /^loaded .*sdk-trace/m);
  const requests = collector.spans.filter(({ kind }) => kind === 2);
  assert.equal(requests.length, 8);
  assert.equal(new Set(requests.map(({ resource }) => resource['process.pid'])).size, 2);
  assert.ok(requests.every(({ resource }) => resource['service.name'] === 'shop'));
});

test('without a collector no package of OpenTelemetry is loaded', async (t) => {
  const env = { NODE_OPTIONS: REPORT_LOADED };
  const service = await serve(t, ['--data', temporaryFolder(t)], { env });
  service.kill('SIGTERM');
  assert.equal(await service.ended, 0);
  assert.doesNotMatch(service.stderr(), /^loaded /m);
});

test('a wrong OTEL_ variable stops the start with one line and exit code 2', async () => {
  const { code, stdout, stderr } = await run(['serve'], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' },
  });
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /^petstore: OTEL_EXPORTER_OTLP_ENDPOINT is not usable: it must be [^\n]*\n$/,
  );

  const wrong: Record<string, string[]> = {
    OTEL_EXPORTER_OTLP_HEADERS: ['secret', 'a b=secret', 'a=%0asecret', 'a=%', '=secret'],
    OTEL_RESOURCE_ATTRIBUTES: ['shop', 'a=1,,b=2', 'a=%zz'],
    OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc', 'http/json'],
    OTEL_TRACES_SAMPLER: ['sometimes', 'jaeger_remote'],
    OTEL_TRACES_SAMPLER_ARG: ['2', '-1', 'half', '1.5'],
  };
  for (const url of ['4318', 'grpc://c:4317', 'http://me:secret@c', 'http://c/?a=1']) {
    assert.throws(
      () => loadConfig({}, { OTEL_EXPORTER_OTLP_ENDPOINT: url }),
      /^UsageError: OTEL_EXPORTER_OTLP_ENDPOINT is not usable: it must be/,
    );
  }
  for (const [variable, values] of Object.entries(wrong)) {
    for (const value of values) {
      assert.throws(
        () => loadConfig({ 'otlp-endpoint': 'http://c' }, { [variable]: value }),
        ({ name, message }: Error) =>
          name === 'UsageError' && message.startsWith(variable) && !message.includes('secret'),
        `${variable}=${value}`,
      );
    }
  }
});
