import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetStoreError } from '../../../sdk/src/index.ts';
import { Refusal } from '../../domain/errors.ts';
import { newPet } from '../../domain/pet.ts';
import { explain } from './page/fault.ts';
import { splitByField } from './page/fields.ts';

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

test('every error has a title and a remedy, and only 401 removes the key', () => {
  const mends = [400, 401, 403, 404, 410, 422, 429, 500, 503].map((status) => {
    const fault = explain(
      new PetStoreError('some_code', 'Words.', { status, retryAfterMs: 1_200 }),
    );
    assert.ok(fault.title !== '' && fault.remedy !== '' && fault.message === 'Words.');
    assert.equal(fault.isKeyRefused, status === 401);
    return `${status} ${fault.mend}`;
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
  assert.equal(explain(new PetStoreError('connection_lost', 'Gone.')).mend, 'retry');
  assert.match(
    explain(new PetStoreError('rate_limited', '', { status: 429, retryAfterMs: 1_200 })).remedy,
    /^Wait 2 seconds/,
  );
});
