import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { Refusal } from './errors.ts';
import { IdempotencyKey, newIdempotencyClaim, parseIdempotencyKey } from './idempotency.ts';
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

test('quotes that do not enclose the whole header are part of the key', () => {
  for (const header of ['a"b"', '"a"b', '"a']) assert.equal(parseIdempotencyKey(header), header);
});

test('every header gives a key of 1 to 255 visible ASCII characters or a Refusal', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (header) => {
      try {
        assert.match(parseIdempotencyKey(header), /^[\x21-\x7e]{1,255}$/);
      } catch (error) {
        assert.ok(error instanceof Refusal && error.code === 'invalid_idempotency_key');
      }
    }),
  );
});

/** Headers near the border of what is accepted: of the special characters, short, and about 255 long. */
const borderline = fc
  .tuple(
    fc.array(fc.constantFrom('"', '\\', '\\"', '\\\\', 'a', '~', ' ', '\n', 'é', '\x7f'), {
      maxLength: 6,
    }),
    fc.constantFrom(0, 0, 0, 248, 250, 251, 252, 253, 254, 255, 256, 257),
    fc.constantFrom('a', '"', '\\', '\\"', '\\\\'),
    fc.boolean(),
  )
  .map(([parts, count, filler, isQuoted]) => {
    const text = parts.join('') + filler.repeat(count);
    return isQuoted ? `"${text}"` : text;
  });

test('the pattern of the OpenAPI document accepts exactly the headers that give a key', () => {
  const pattern = new RegExp(IdempotencyKey.pattern);
  const anything = fc.string({ unit: 'binary-ascii', maxLength: 300 });
  fc.assert(
    fc.property(fc.oneof(borderline, visible, anything), (header) => {
      let isKey = true;
      try {
        parseIdempotencyKey(header);
      } catch {
        isKey = false;
      }
      assert.equal(pattern.test(header), isKey, JSON.stringify(header));
    }),
    { numRuns: 1_000 },
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
