import assert from 'node:assert/strict';
import crypto, { randomBytes } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import { createAuthenticate } from './authenticate.ts';

const FORGED = 2_000;

test('the header of a known key is hashed once, however many invented keys are sent meanwhile', async (t) => {
  const secret = newSecret('production', randomBytes);
  const key = newApiKey({ secret, name: 'shop', now: new Date(0), randomBytes });
  const hashing = t.mock.method(crypto, 'hash');
  syncBuiltinESMExports();
  t.after(() => {
    hashing.mock.restore();
    syncBuiltinESMExports();
  });
  const authenticate = createAuthenticate({
    environment: 'production',
    keys: { find: async (hash) => (hash === key.hash ? key : undefined) },
    clock: { now: () => new Date(0), elapsedMs: () => 0 },
  });
  assert.equal(await authenticate(`Bearer ${secret}`), key);
  for (let sent = 0; sent < FORGED; sent += 1) {
    const forged = newSecret('production', randomBytes);
    await assert.rejects(async () => authenticate(`Bearer ${forged}`), { code: 'invalid_api_key' });
  }
  const before = hashing.mock.callCount();
  assert.ok(before > FORGED);
  assert.equal(await authenticate(`Bearer ${secret}`), key);
  assert.equal(hashing.mock.callCount(), before);
});
