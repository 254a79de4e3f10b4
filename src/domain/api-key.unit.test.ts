import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { environmentOfSecret, hashApiKey, newApiKey, newSecret, stateOfKey } from './api-key.ts';
import { ENVIRONMENTS } from './key-form.ts';

const environments = fc.constantFrom(...ENVIRONMENTS);
const NOW = new Date('2027-01-01T00:00:00Z');

test('a key has a prefix for its environment, 30 random characters and 6 characters of checksum', () => {
  fc.assert(
    fc.property(environments, (environment) => {
      const secret = newSecret(environment, randomBytes);
      assert.match(
        secret,
        environment === 'production' ? /^pet_live_\w{36}$/ : /^pet_test_\w{36}$/,
      );
      assert.equal(environmentOfSecret(secret), environment);
    }),
  );
});

test('a key with one wrong character is not a key', () => {
  fc.assert(
    fc.property(
      environments,
      fc.nat(),
      fc.constantFrom('a', 'Z', '0', '9', '_', '-'),
      (environment, at, put) => {
        const secret = newSecret(environment, randomBytes);
        const place = at % secret.length;
        const mistyped = secret.slice(0, place) + put + secret.slice(place + 1);
        fc.pre(mistyped !== secret);
        assert.equal(environmentOfSecret(mistyped), undefined);
      },
    ),
  );
});

test('a text that is longer than a key is not a key, also with the right checksum', () => {
  const longer = `pet_test_${'0'.repeat(31)}16sAiA`;
  assert.equal(environmentOfSecret(longer), undefined);
});

test('all 62 letters are about equally frequent', () => {
  const counts = new Map<string, number>();
  for (let index = 0; index < 2000; index += 1) {
    for (const letter of newSecret('production', randomBytes).slice(9, 39)) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
  }
  assert.equal(counts.size, 62);
  const average = (2000 * 30) / 62;
  for (const count of counts.values()) assert.ok(Math.abs(count - average) < average / 4);
});

test('a byte that would favour some letters is skipped', () => {
  assert.equal(secretOf(248, 7), secretOf(7));
  assert.equal(secretOf(255, 7), secretOf(7));
  assert.equal(secretOf(247, 7), secretOf(247 % 62));
});

/** The key if the first random bytes are all the first of `bytes`, the next all the second, and so on. */
function secretOf(...bytes: number[]): string {
  let calls = 0;
  return newSecret('production', (length) => Buffer.alloc(length, bytes[calls++] ?? bytes.at(-1)));
}

test('the record of a key has its SHA-256 and not the key', () => {
  const secret = newSecret('staging', randomBytes);
  const record = newApiKey({ secret, name: 'shop', now: NOW, randomBytes });
  assert.equal(record.hash, hashApiKey(secret));
  assert.match(record.hash, /^[\da-f]{64}$/);
  assert.ok(!JSON.stringify(record).includes(secret));
  assert.deepEqual(record.scopes, ['pets:read', 'pets:write']);
});

test('a key is active until the moment it expires; with a revocation time it is revoked, whatever the clock says', () => {
  const record = newApiKey({
    secret: newSecret('production', randomBytes),
    name: 'shop',
    now: NOW,
    randomBytes,
  });
  const later = new Date(NOW.getTime() + 1);
  assert.equal(stateOfKey(record, later), 'active');
  assert.equal(stateOfKey({ ...record, expiresAt: later }, NOW), 'active');
  assert.equal(stateOfKey({ ...record, expiresAt: later }, later), 'expired');
  assert.equal(stateOfKey({ ...record, revokedAt: later }, NOW), 'revoked');
  assert.equal(stateOfKey({ ...record, revokedAt: NOW, expiresAt: NOW }, NOW), 'revoked');
});
