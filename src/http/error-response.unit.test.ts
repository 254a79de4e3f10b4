import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorResponse } from './error-response.ts';

test('an Error that a later request can avoid says when to send it', () => {
  for (const code of ['unavailable', 'overloaded'] as const) {
    const { headers } = errorResponse(code, 'Not now.');
    assert.equal(headers[headers.indexOf('Retry-After') + 1], '1', code);
  }
  assert.ok(!errorResponse('internal_error', 'Never.').headers.includes('Retry-After'));
});
