import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Refusal } from '../domain/errors.ts';
import { openLog, type LogLevel } from '../ops/log.ts';
import { errorResponse } from './error-response.ts';
import { jsonResponse } from './message.ts';
import type { RequestContext } from './operation.ts';
import { operations } from './operations.ts';
import { RequestLog, type Outcome } from './request-log.ts';

const NO_BODY = () => Promise.resolve(Buffer.alloc(0));

function openRequestLog(t: TestContext, level: LogLevel = 'info') {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const accessLines: Record<string, unknown>[] = [];
  const accessLog = openLog('info', {
    write: (line) => accessLines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const requestLog = new RequestLog(openLog(level, { write }), accessLog);
  let count = 0;
  return {
    lines,
    accessLines,
    add: (outcome: Partial<Outcome>, context: Partial<RequestContext> = {}): void => {
      count += 1;
      const request: RequestContext = {
        requestId: `request-${count}`,
        keyId: 'key_a',
        operation: operations.find(({ id }) => id === 'listPets'),
        request: { method: 'GET', target: '/v1/pets', headers: {}, readBody: NO_BODY },
        route: '/v1/pets',
        startedMs: 0,
        isStrict: false,
        query: '',
        pathParameter: '',
        isOfConsole: false,
        petId: undefined,
        headers: [],
        ...context,
      };
      const response = jsonResponse(200, '[]');
      requestLog.add(request, { response, durationMs: 1, error: undefined, ...outcome });
    },
  };
}

function unavailable(reason = 'the disk is gone'): Partial<Outcome> {
  const error = new Refusal('unavailable', 'Try again.', { cause: new Error(reason) });
  return { response: errorResponse('unavailable', 'Try again.'), error };
}

test('of refused requests of one kind the first has a line with its id and cause, and the others are counted', (t) => {
  const { lines, add } = openRequestLog(t);
  for (let id = 0; id < 1_000; id += 1) add(unavailable(`the animal ${id} is gone`));
  add({
    response: errorResponse('overloaded', 'Too many.'),
    error: new Refusal('overloaded', 'Too many.'),
  });
  assert.deepEqual(
    lines.map(({ requestId, status, msg }) => [requestId, status, msg]),
    [
      ['request-1', 503, 'request failed'],
      ['request-1001', 503, 'request failed'],
    ],
  );
  assert.match(JSON.stringify(lines[0]), /the animal 0 is gone/);
  t.mock.timers.tick(10_000);
  assert.equal(lines.length, 3);
  const { time, instance, ...counted } = lines[2] ?? {};
  assert.ok(time);
  assert.ok(instance);
  assert.deepEqual(counted, {
    level: 'error',
    operation: 'listPets',
    status: 503,
    code: 'unavailable',
    cause: 'Error: the animal … is gone',
    count: 999,
    seconds: 10,
    msg: 'request failed: repeated',
  });
  add(unavailable());
  assert.equal(lines[3]?.['requestId'], 'request-1002', 'the next one has its own line again');
});

test('a request that fails for another cause has a line of its own', (t) => {
  const { lines, add } = openRequestLog(t);
  for (const cause of ['the disk is full', 'UNIQUE constraint failed']) add(unavailable(cause));
  assert.equal(lines.length, 2);
});

test('slow requests of one kind are counted in the same way', (t) => {
  const { lines, add } = openRequestLog(t);
  for (let index = 0; index < 3; index += 1) add({ durationMs: 1_500 });
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    lines.map(({ level, requestId, count, msg }) => [level, requestId ?? count, msg]),
    [
      ['warn', 'request-1', 'request was slow'],
      ['warn', 2, 'request was slow: repeated'],
    ],
  );
});

test('a request that failed for a reason nobody foresaw always has its own line', (t) => {
  const { lines, add } = openRequestLog(t);
  const defect = {
    response: errorResponse('internal_error', 'The service failed.'),
    error: new Error('a defect'),
  };
  for (let index = 0; index < 3; index += 1) add(defect);
  assert.deepEqual(
    lines.map(({ requestId }) => requestId),
    ['request-1', 'request-2', 'request-3'],
  );
});

test('a request that was refused for a fault of the client has no line', (t) => {
  const { lines, add } = openRequestLog(t);
  const message = 'No animal has this id.';
  const error = new Refusal('pet_not_found', message);
  add({ response: errorResponse('pet_not_found', message), error });
  assert.deepEqual(lines, []);
});

test('a line has the trace id of a well-formed traceparent, and of no other', (t) => {
  const { accessLines, add } = openRequestLog(t);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const good = `00-${traceId}-00f067aa0ba902b7-01`;
  for (const traceparent of [good, `0${good}`, good.slice(0, -1)]) {
    const headers = { traceparent };
    add({}, { request: { method: 'GET', target: '/v1/pets', headers, readBody: NO_BODY } });
  }
  assert.deepEqual(
    accessLines.map((line) => line['traceId']),
    [traceId, undefined, undefined],
  );
});

test('at debug every request has its own line', (t) => {
  const { lines, add } = openRequestLog(t, 'debug');
  for (let index = 0; index < 3; index += 1) add(unavailable());
  add({});
  assert.equal(lines.length, 4);
});

test('a 503 that no error has caused, as /readyz sends before a planned stop, is no error in the log', (t) => {
  const { lines, add } = openRequestLog(t);
  add({ response: errorResponse('unavailable', 'The service is not ready.') });
  assert.deepEqual(lines, []);
});

test('a request that HTTP forbids is no failure of the service, whatever its status', (t) => {
  const { lines, add } = openRequestLog(t, 'debug');
  const fault = new Refusal('not_implemented', 'The transfer coding is unknown.');
  const request = { method: 'POST', target: '/v1/pets', headers: {}, readBody: NO_BODY, fault };
  add({ response: errorResponse('not_implemented', fault.message), error: fault }, { request });
  assert.deepEqual(
    lines.map(({ level, msg, err }) => [level, msg, err]),
    [['debug', 'request', undefined]],
  );
});

test('the access log has a line for every request, with who sent it, what it was about and what came of it', (t) => {
  const { lines, accessLines, add } = openRequestLog(t);
  const body = '{"id":9223372036854775807}';
  const createPet = operations.find(({ id }) => id === 'createPet');
  const request = {
    method: 'POST',
    target: '/v1/pets?name=secret',
    address: '10.0.0.7',
    headers: { 'x-forwarded-for': '192.0.2.1, 10.0.0.1', authorization: 'Bearer secret' },
    readBody: NO_BODY,
  };
  add(
    { response: jsonResponse(201, body), durationMs: 1.23456 },
    { request, operation: createPet, petId: 9223372036854775807n },
  );
  assert.deepEqual(lines, []);
  const { time, instance, ...line } = accessLines[0] ?? {};
  assert.ok(time);
  assert.ok(instance);
  assert.deepEqual(line, {
    level: 'info',
    requestId: 'request-1',
    keyId: 'key_a',
    method: 'POST',
    operation: 'createPet',
    status: 201,
    durationMs: 1.235,
    address: '10.0.0.7',
    forwardedFor: '192.0.2.1, 10.0.0.1',
    route: '/v1/pets',
    petId: '9223372036854775807',
    bytes: body.length,
    msg: 'access',
  });
});

test('the access log has the animal that was requested, the code of a refusal, and at most 256 characters of X-Forwarded-For', (t) => {
  const { accessLines, add } = openRequestLog(t);
  const headers = { 'x-forwarded-for': 'a'.repeat(10_000) };
  const head = { method: 'HEAD', target: '/v1/pets/7', headers, readBody: NO_BODY };
  const missing = errorResponse('pet_not_found', 'No animal has this id.');
  add({ response: missing }, { request: head, pathParameter: '7', route: '/v1/pets/{petId}' });
  add({ response: missing }, { pathParameter: 'a path that the client chose', keyId: '' });
  const [first = {}, second = {}] = accessLines;
  assert.deepEqual(
    [first['petId'], first['code'], first['status'], first['bytes'], first['route']],
    ['7', 'pet_not_found', 404, 0, '/v1/pets/{petId}'],
  );
  assert.equal(String(first['forwardedFor']).length, 256);
  assert.deepEqual([second['petId'], second['keyId']], [undefined, undefined]);
});
