import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { newStoreIdentity, requireEnvironment } from './store-identity.ts';

const NAMES = { store: '/srv/pets', other: 'name another store' };
const now = new Date(0);

test('the identity of a store has 16 random characters, its environment and its time', () => {
  const { id, ...rest } = newStoreIdentity('staging', { now, randomBytes });
  assert.match(id, /^[0-9A-Za-z]{16}$/);
  assert.deepEqual(rest, { environment: 'staging', createdAt: now });
});

test('a store of another environment is refused, with the setting that would be right', () => {
  const found = newStoreIdentity('staging', { now, randomBytes });
  requireEnvironment(found, 'staging', NAMES);
  requireEnvironment(found, undefined, NAMES);
  assert.throws(() => requireEnvironment(found, 'production', NAMES), {
    name: 'StoreUnusable',
    message:
      '/srv/pets is a staging store, and the environment is production: set the environment to staging, or name another store.',
  });
});
