import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { INT64_MAX, INT64_MIN, parseInt64 } from './int64.ts';

test('parseInt64 returns every int64 from its digits', () => {
  fc.assert(
    fc.property(fc.bigInt(INT64_MIN, INT64_MAX), (value) => {
      assert.equal(parseInt64(String(value)), value);
    }),
    { examples: [[INT64_MIN], [INT64_MAX]] },
  );
});

test('leading zeros, a zero fraction and an exponent do not change an integer', () => {
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

test('an integer outside int64 is undefined', () => {
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
  assert.equal(parseInt64('0.00000000000000000001e20'), 1n);
  for (const text of ['1.5', '15e-1', '', 'x', '1e', '--1', '0x1', ' 1', '1n', 'Infinity']) {
    assert.equal(parseInt64(text), undefined, text);
  }
});

test('a huge exponent takes no time', () => {
  assert.equal(parseInt64('1e999999999999'), undefined);
  assert.equal(parseInt64('1e-999999999999'), undefined);
  assert.equal(parseInt64(`1e${'9'.repeat(60_000)}`), undefined);
});

test('the time for a number as long as a body grows linearly with its length', () => {
  const startedMs = performance.now();
  assert.equal(parseInt64(`1${'0'.repeat(65_000)}1`), undefined);
  // Quadratic work would take ten seconds. The bound is a hundred times the linear time, for slow machines.
  assert.ok(performance.now() - startedMs < 1_000);
});
