import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import type { Store } from '../domain/store.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { KeyRing } from './key-ring.ts';

const NOW = new Date('2027-01-01T00:00:00Z');

function openHere(t: TestContext): Store {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const store = openSqliteStore(join(folder, 'petstore.sqlite'));
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return store;
}

function newRecord() {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name: 'shop', now: NOW, randomBytes }).record;
}

test('a key made after the ring was opened is found at once', async (t) => {
  const store = openHere(t);
  const ring = new KeyRing(store, { now: () => NOW, elapsedMs: () => 0 });
  await ring.open();
  t.after(() => ring.close());
  const record = newRecord();
  await store.createApiKey(record);
  assert.equal((await ring.find(record.hash))?.id, record.id);
});

test('a known key needs no query; a revocation is known once the ring is older than 5 seconds', async (t) => {
  const store = openHere(t);
  const record = newRecord();
  await store.createApiKey(record);
  let elapsedMs = 0;
  let queries = 0;
  const counted = {
    findApiKey: (hash: string) => store.findApiKey(hash),
    recordKeyUse: store.recordKeyUse.bind(store),
    listApiKeys: () => {
      queries += 1;
      return store.listApiKeys();
    },
  };
  const ring = new KeyRing(counted, { now: () => NOW, elapsedMs: () => elapsedMs });
  await ring.open();
  t.after(() => ring.close());
  await ring.find(record.hash);
  assert.equal(queries, 1);
  await store.revokeApiKey(record.id, NOW);
  elapsedMs = 5_001;
  const found = await ring.find(record.hash);
  assert.deepEqual(found?.revokedAt, NOW);
  assert.equal(queries, 2);
});

test('when the keys cannot be read for over 5 seconds, no key is vouched for', async (t) => {
  const store = openHere(t);
  const record = newRecord();
  await store.createApiKey(record);
  let elapsedMs = 0;
  let isGone = false;
  const failing = {
    findApiKey: (hash: string) => store.findApiKey(hash),
    recordKeyUse: store.recordKeyUse.bind(store),
    listApiKeys: () => (isGone ? Promise.reject(new Error('gone')) : store.listApiKeys()),
  };
  const ring = new KeyRing(failing, { now: () => NOW, elapsedMs: () => elapsedMs });
  await ring.open();
  t.after(() => ring.close());
  isGone = true;
  elapsedMs = 4_999;
  assert.equal((await ring.find(record.hash))?.id, record.id);
  elapsedMs = 5_001;
  await assert.rejects(async () => ring.find(record.hash), { code: 'unavailable' });
  isGone = false;
  assert.equal((await ring.find(record.hash))?.id, record.id, 'and it recovers by itself');
});

test('the last use of a key is recorded when the ring is closed', async (t) => {
  const store = openHere(t);
  const record = newRecord();
  await store.createApiKey(record);
  const ring = new KeyRing(store, { now: () => NOW, elapsedMs: () => 0 });
  await ring.open();
  ring.noteUse(record);
  await ring.close();
  assert.deepEqual((await store.findApiKey(record.hash))?.lastUsedAt, NOW);
});
