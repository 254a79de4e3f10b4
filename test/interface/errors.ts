import assert from 'node:assert/strict';
import { ERRORS, type ErrorCode } from '../../src/domain/errors.ts';
import type { Received } from '../../harness/test-service.ts';

/** Asserts that a response has the Error body with this code, exactly three fields, and the right status. */
export function assertError(received: Received, code: ErrorCode, message?: RegExp): void {
  assert.equal(received.headers['content-type'], 'application/json', received.text);
  const body = received.json() as Record<string, unknown>;
  assert.equal(body['code'], code, received.text);
  assert.deepEqual(Object.keys(body), ['code', 'message', 'status']);
  assert.equal(body['status'], ERRORS[code].status);
  assert.equal(received.status, ERRORS[code].status);
  assert.equal(typeof body['message'], 'string');
  if (message !== undefined) assert.match(String(body['message']), message);
  assert.equal(received.headers['cache-control'], 'no-store');
  assert.ok(received.headers['x-request-id'], 'every response has an X-Request-Id');
}
