import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Refusal } from '../domain/errors.ts';
import { openLog, type LogLevel } from '../ops/log.ts';
import { RequestLog, type Outcome } from './request-log.ts';

function openRequestLog(t: TestContext, level: LogLevel = 'info') {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const requestLog = new RequestLog(openLog(level, { write }));
  let count = 0;
  return {
    lines,
    add: (outcome: Partial<Outcome>): void => {
      count += 1;
      const request = {
        requestId: `request-${count}`,
        keyId: 'key_a',
        operation: { id: 'listPets' },
        request: { method: 'GET', headers: {} },
      };
      requestLog.add(request, { status: 200, durationMs: 1, error: undefined, ...outcome });
    },
  };
}

function unavailable(): Partial<Outcome> {
  const error = new Refusal('unavailable', 'Try again.', { cause: new Error('the disk is gone') });
  return { status: 503, error };
}

test('of refused requests of one kind the first has a line with its id and cause, and the others are counted', (t) => {
  const { lines, add } = openRequestLog(t);
  for (let index = 0; index < 1_000; index += 1) add(unavailable());
  add({ status: 503, error: new Refusal('overloaded', 'Too many.') });
  assert.deepEqual(
    lines.map(({ requestId, status, msg }) => [requestId, status, msg]),
    [
      ['request-1', 503, 'request failed'],
      ['request-1001', 503, 'request failed'],
    ],
  );
  assert.match(JSON.stringify(lines[0]), /the disk is gone/);
  t.mock.timers.tick(10_000);
  assert.equal(lines.length, 3);
  const { time, ...counted } = lines[2] ?? {};
  assert.ok(time);
  assert.deepEqual(counted, {
    level: 50,
    operation: 'listPets',
    status: 503,
    code: 'unavailable',
    count: 999,
    seconds: 10,
    msg: 'request failed: repeated',
  });
  add(unavailable());
  assert.equal(lines[3]?.['requestId'], 'request-1002', 'the next one has its own line again');
});

test('slow requests of one kind are counted in the same way', (t) => {
  const { lines, add } = openRequestLog(t);
  for (let index = 0; index < 3; index += 1) add({ durationMs: 1_500 });
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    lines.map(({ level, requestId, count, msg }) => [level, requestId ?? count, msg]),
    [
      [40, 'request-1', 'request was slow'],
      [40, 2, 'request was slow: repeated'],
    ],
  );
});

test('a request that failed for a reason nobody foresaw always has its own line', (t) => {
  const { lines, add } = openRequestLog(t);
  for (let index = 0; index < 3; index += 1) add({ status: 500, error: new Error('a defect') });
  assert.deepEqual(
    lines.map(({ requestId }) => requestId),
    ['request-1', 'request-2', 'request-3'],
  );
});

test('at debug every request has its own line', (t) => {
  const { lines, add } = openRequestLog(t, 'debug');
  for (let index = 0; index < 3; index += 1) add(unavailable());
  add({});
  assert.equal(lines.length, 4);
});
