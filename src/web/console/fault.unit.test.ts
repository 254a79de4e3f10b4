import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetStoreError } from '../../../sdk/src/index.ts';
import { explain } from './page/fault.ts';

test('every error has a title and a remedy, only 401 removes the key, and what may pass can be tried again', () => {
  const retried = [400, 401, 403, 404, 410, 422, 429, 500, 503].filter((status) => {
    const fault = explain(
      new PetStoreError('some_code', 'Words.', { status, retryAfterMs: 1_200 }),
    );
    assert.ok(fault.title !== '' && fault.remedy !== '' && fault.message === 'Words.');
    assert.equal(fault.isKeyRefused, status === 401);
    return fault.canRetry;
  });
  assert.deepEqual(retried, [429, 500, 503]);
});

test('an error that passes says how long to wait', () => {
  for (const [code, status, retryAfterMs, words] of [
    ['rate_limited', 429, 1_200, 'Too many requests with this key. Wait 2 seconds,'],
    ['overloaded', 503, 0, 'The service is busy. Wait a second,'],
    ['overloaded', 503, 120_001, 'The service is busy. Wait 121 seconds,'],
    ['rate_limited', 429, undefined, 'Too many requests with this key. Wait a moment,'],
    [
      'unavailable',
      503,
      1_000,
      'No animals; or so. If it stays so, tell whoever runs the service: its monitor says why. ',
    ],
    ['internal_error', 500, 1_200, 'The service has failed. Try again. If it'],
  ] as const) {
    const error = new PetStoreError(code, 'No animals; or so.', { status, retryAfterMs });
    const { title, remedy } = explain(error);
    assert.ok(`${title}. ${remedy}`.startsWith(words), remedy);
  }
});

test('an error without a response says whether the service can be reached', () => {
  for (const [error, title] of [
    [new PetStoreError('connection_lost', 'Words.'), 'The service cannot be reached'],
    [new PetStoreError('timed_out', 'Words.'), 'The service cannot be reached'],
    [new PetStoreError('unreadable_response', 'Words.'), 'The service has failed'],
    [new TypeError('Words.'), 'The service has failed'],
    ['Words.', 'The service has failed'],
  ] as const) {
    const { status, message, canRetry, ...fault } = explain(error);
    assert.deepEqual([status, message, canRetry], [0, 'Words.', true]);
    assert.equal(fault.title, title);
  }
});
