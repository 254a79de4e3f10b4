import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetStoreError } from '../../../sdk/src/index.ts';
import { Refusal } from '../../domain/errors.ts';
import { newPet } from '../../domain/pet.ts';
import { explain } from './page/fault.ts';
import { FIELD_WORDS, splitByField } from './page/fields.ts';

function refusalOf(body: unknown): string {
  try {
    newPet(body, { refuseUnknown: true });
  } catch (error) {
    if (error instanceof Refusal) return error.message;
  }
  return assert.fail('The body was not refused.');
}

test('the message of the service is split by field', () => {
  const parts = splitByField(refusalOf({ name: '', status: 'lost', color: 'red' }));
  assert.match(parts.name ?? '', /^name must be a string/);
  assert.match(parts.categoryId ?? '', /^categoryId is missing: it must be an integer/);
  assert.match(parts.status ?? '', /^status must be one of .*color/);
  assert.equal(parts.form, undefined);
});

test('a message that names no field is shown with the form', () => {
  assert.deepEqual(splitByField('The body is not valid UTF-8.'), {
    form: 'The body is not valid UTF-8.',
  });
});

test('a sentence belongs to the field that it begins with', () => {
  const message = 'name differs from status here. name is too long. The end of name is lost.';
  assert.deepEqual(splitByField(`Two faults. ${message}`), { form: 'Two faults.', name: message });
});

test('the words for a field say what is wrong with its value', () => {
  const missing = 'Enter a category, such as 7.';
  const whole = 'The category is a whole number, such as 7.';
  const range = 'The category is a whole number from -9223372036854775808 to 9223372036854775807.';
  const unstored = 'The name has a character that cannot be stored.';
  for (const [field, value, words] of [
    ['name', undefined, 'Enter a name.'],
    ['name', '', 'Enter a name.'],
    ['name', 7n, 'The name is a text.'],
    ['name', 'x'.repeat(256), 'The name has 256 characters; at most 255 fit.'],
    ['name', '🦊'.repeat(255), undefined],
    ['name', 'a\0b', unstored],
    ['name', 'a\ud800b', unstored],
    ['categoryId', undefined, missing],
    ['categoryId', '', missing],
    ['categoryId', 'x7', whole],
    ['categoryId', '7x', whole],
    ['categoryId', true, whole],
    ['categoryId', '9223372036854775808', range],
    ['categoryId', '-9223372036854775809', range],
    ['categoryId', 2n ** 63n, range],
    ['categoryId', -(2n ** 63n), undefined],
    ['status', undefined, undefined],
    ['status', 'sold', undefined],
    ['status', 'lost', 'The status is available, pending or sold.'],
  ] as const) {
    assert.equal(FIELD_WORDS[field](value), words, `${field} ${value}`);
  }
});

test('every error has a title and a remedy, and only 401 removes the key', () => {
  const mends = [400, 401, 403, 404, 410, 422, 429, 500, 503].map((status) => {
    const fault = explain(
      new PetStoreError('some_code', 'Words.', { status, retryAfterMs: 1_200 }),
    );
    assert.ok(fault.title !== '' && fault.remedy !== '' && fault.message === 'Words.');
    assert.equal(fault.isKeyRefused, status === 401);
    assert.equal(fault.isForbidden, status === 403);
    return `${status} ${fault.action}`;
  });
  assert.deepEqual(mends, [
    '400 none',
    '401 key',
    '403 key',
    '404 none',
    '410 none',
    '422 none',
    '429 retry',
    '500 retry',
    '503 retry',
  ]);
});

test('an error that passes says how long to wait, and the page waits at most two minutes', () => {
  for (const [code, status, retryAfterMs, words, waitMs] of [
    ['rate_limited', 429, 1_200, 'Too many requests with this key. Wait 2 seconds,', 1_200],
    ['overloaded', 503, 0, 'The service is busy. Wait a second,', 0],
    ['overloaded', 503, 120_000, 'The service is busy. Wait 120 seconds,', 120_000],
    ['overloaded', 503, 120_001, 'The service is busy. Wait 121 seconds,', undefined],
    [
      'unavailable',
      503,
      1_000,
      'No animals; or so. If it stays so, tell whoever runs the service: its monitor says why. ',
      1_000,
    ],
    ['rate_limited', 429, undefined, 'Too many requests with this key. Wait a moment,', 5_000],
    ['internal_error', 500, 1_200, 'The service has failed. Try again. If it', undefined],
  ] as const) {
    const message = 'No animals; or so.';
    const error = new PetStoreError(code, message, { status, retryAfterMs });
    const fault = explain(error);
    assert.ok(`${fault.title}. ${fault.remedy}`.startsWith(words), fault.remedy);
    assert.equal(fault.waitMs, waitMs);
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
    const { status, message, waitMs, action, ...fault } = explain(error);
    assert.deepEqual([status, message, waitMs, action], [0, 'Words.', undefined, 'retry']);
    assert.equal(fault.title, title);
  }
});
