import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verificationOf, type VerifyRow } from './verify.ts';

// PostgreSQL reads the parts of a UNION in parallel where the table is large.
test('the result of verify does not depend on the order of the rows', () => {
  const rows: VerifyRow[] = [
    ['animals with an unknown status', 2n, '7'],
    ['animals', 5_000n, '9223372036853775807'],
    ['API keys with an invalid hash or scope', 0n, ''],
  ];
  for (const ordered of [rows, rows.toReversed()]) {
    assert.deepEqual(verificationOf(ordered), {
      animals: 5_000,
      lastId: 9_223_372_036_853_775_807n,
      problems: ['animals with an unknown status: 2 (the first is 7)'],
      warnings: [],
    });
  }
});
