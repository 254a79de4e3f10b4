import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { INT64_MAX, INT64_MIN, parseInt64 } from './int64.ts';

test('every int64 is read back from its own digits', () => {
  fc.assert(
    fc.property(fc.bigInt(INT64_MIN, INT64_MAX), (value) => {
      assert.equal(parseInt64(String(value)), value);
    }),
  );
});

test('an integer is the same however it is written: with zeros, a fraction of zeros, an exponent', () => {
  fc.assert(
    fc.property(
      fc.bigInt(INT64_MIN, INT64_MAX),
      fc.nat({ max: 30 }),
      fc.nat({ max: 30 }),
      (value, zeros, shift) => {
        assert.equal(parseInt64(`${value}.${'0'.repeat(zeros + 1)}`), value);
        assert.equal(parseInt64(`${value}${'0'.repeat(shift)}e-${shift}`), value);
        const digits = String(value).padStart(2, '0');
        assert.equal(
          parseInt64(`${digits.slice(0, -1) || '0'}.${digits.slice(-1)}e1`.replace('-.', '-0.')),
          value,
        );
      },
    ),
  );
});

test('what lies outside int64 is no int64', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 80n }), (beyond) => {
      assert.equal(parseInt64(String(INT64_MAX + beyond)), undefined);
      assert.equal(parseInt64(String(INT64_MIN - beyond)), undefined);
    }),
  );
});

test('1.0, 1e2, 100e-2 and -0 are integers; 1.5, 15e-1 and words are not', () => {
  assert.equal(parseInt64('1.0'), 1n);
  assert.equal(parseInt64('1e2'), 100n);
  assert.equal(parseInt64('1E+2'), 100n);
  assert.equal(parseInt64('100e-2'), 1n);
  assert.equal(parseInt64('-0'), 0n);
  assert.equal(parseInt64('0e5'), 0n);
  for (const text of ['1.5', '15e-1', '', 'x', '1e', '--1', '0x1', ' 1', '1n', 'Infinity']) {
    assert.equal(parseInt64(text), undefined, text);
  }
});

test('a monstrous exponent costs nothing', () => {
  assert.equal(parseInt64('1e999999999999'), undefined);
  assert.equal(parseInt64('1e-999999999999'), undefined);
  assert.equal(parseInt64(`1e${'9'.repeat(60_000)}`), undefined);
});

test('a number as long as a body is read in time that grows with its length, not with its square', () => {
  const startedMs = performance.now();
  assert.equal(parseInt64(`1${'0'.repeat(65_000)}1`), undefined);
  // Squared, it takes ten seconds; the bound leaves a slow machine a hundred times what it needs.
  assert.ok(performance.now() - startedMs < 1_000);
});
