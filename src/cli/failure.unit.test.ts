import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../domain/errors.ts';
import { StoreFault, StoreUnusable } from '../domain/store.ts';
import { UsageError } from '../setting.ts';
import { failureOf, refusalLine } from './failure.ts';

/** What `work` throws. */
function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test('wrong use or a wrong store is exit code 2, and every other failure is 1', () => {
  for (const error of [new UsageError('--port is wrong.'), new StoreUnusable('It is empty.')]) {
    assert.deepEqual(failureOf(error), { exitCode: 2, line: error.message });
  }
  const damaged = new StoreFault('It is damaged.');
  assert.deepEqual(failureOf(damaged), { exitCode: 1, line: 'It is damaged.' });
  const refusal = new Refusal('unavailable', 'It is busy.');
  assert.deepEqual(failureOf(refusal), { exitCode: 1, line: 'It is busy.' });
});

test('a failure of the system is one line, and a defect of the program has none', () => {
  const missing = thrownBy(() => readFileSync('/nowhere/pets.csv'));
  assert.match(failureOf(missing)?.line ?? '', /^ENOENT: no such file or directory/);
  using database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE pets (id INTEGER CHECK (id > 0))');
  const refused = thrownBy(() => database.exec('INSERT INTO pets VALUES (0)'));
  assert.match(failureOf(refused)?.line ?? '', /^CHECK constraint failed/);
  assert.equal(failureOf(missing)?.exitCode, 1);
  assert.equal(failureOf(refused)?.exitCode, 1);

  const invalid = thrownBy(() => database.exec('SELECT nothing FROM nowhere'));
  assert.ok(invalid instanceof Error);
  for (const defect of [invalid, new TypeError('x is not a function'), 'a text', undefined]) {
    assert.equal(failureOf(defect), undefined);
  }
});

function line(cause?: unknown): string {
  return refusalLine(new Refusal('unavailable', 'The store 1.0 is busy.', { cause }));
}

test('the line of a refusal has its cause, which may be an error or a text', () => {
  assert.equal(line(), 'The store 1.0 is busy.');
  assert.equal(line('disk full'), 'The store 1.0 is busy (disk full).');
  assert.equal(line(new Error('disk full')), 'The store 1.0 is busy (disk full).');
  assert.equal(line({ code: 7 }), 'The store 1.0 is busy.');
});
