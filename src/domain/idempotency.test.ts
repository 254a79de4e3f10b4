import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from './errors.ts';
import { newIdempotencyClaim, parseIdempotencyKey } from './idempotency.ts';
import type { PetStatus } from './pet.ts';

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  minLength: 1,
  maxLength: 255,
});

test('any visible ASCII text is a key, and quotes do not change it', () => {
  fc.assert(
    fc.property(visible, (key) => {
      fc.pre(!/^".*"$/.test(key));
      assert.equal(parseIdempotencyKey(key), key);
      assert.equal(parseIdempotencyKey(`"${key.replaceAll(/["\\]/g, String.raw`\$&`)}"`), key);
    }),
  );
});

test('every header gives a key of 1 to 255 visible ASCII characters or a Refusal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (header) => {
      try {
        assert.match(parseIdempotencyKey(header), /^[\x21-\x7e]{1,255}$/);
      } catch (error) {
        assert.ok(error instanceof Refusal && error.code === 'invalid_idempotency_key');
      }
    }),
  );
});

function claim(name: string, categoryId: bigint, status: PetStatus = 'sold') {
  const pet = { name, categoryId, status };
  return newIdempotencyClaim('k', pet, { apiKeyId: 'a', now: new Date(0) });
}

test('two creates have the same fingerprint exactly if they are for the same animal', () => {
  assert.equal(claim('Rex', 1n).fingerprint, claim('Rex', 1n).fingerprint);
  assert.notEqual(claim('Rex', 1n).fingerprint, claim('Rex', 2n).fingerprint);
  assert.notEqual(claim('Rex', 1n).fingerprint, claim('Max', 1n).fingerprint);
  assert.notEqual(claim('Rex', 1n).fingerprint, claim('Rex', 1n, 'pending').fingerprint);
  assert.notEqual(
    claim('Rex', 9223372036854775807n).fingerprint,
    claim('Rex', 9223372036854775806n).fingerprint,
  );
  assert.equal(claim('Rex', 1n).expiresAt.getTime(), 24 * 60 * 60 * 1000);
});
