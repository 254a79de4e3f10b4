import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newApiKey, newSecret, stateOfKey } from '../domain/api-key.ts';
import type { Store } from '../domain/store.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { KeyRing } from './key-ring.ts';

const NOW = new Date('2027-01-01T00:00:00Z');

function openHere(t: TestContext, folder = mkdtempSync(join(tmpdir(), 'petstore-test-'))): Store {
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

test('when the keys cannot be read for over 5 seconds, no key is accepted', async (t) => {
  const store = openHere(t);
  const record = newRecord();
  await store.createApiKey(record);
  let elapsedMs = 0;
  let isGone = false;
  const failing = {
    findApiKey: (hash: string) => store.findApiKey(hash),
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

type Read = 'look-up' | 'refresh';

/** A ring whose reads take their result when they are sent, and deliver it when the test says so. */
async function openDelayed(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const store = openHere(t, folder);
  const record = newRecord();
  const held = new Map<Read, () => void>();
  let isHolding = false;
  async function hold<Result>(name: Read, read: Promise<Result>): Promise<Result> {
    const result = await read;
    if (isHolding) await new Promise<void>((deliver) => held.set(name, deliver));
    return result;
  }
  const reads = {
    findApiKey: (hash: string) => hold('look-up', store.findApiKey(hash)),
    listApiKeys: () => hold('refresh', store.listApiKeys()),
  };
  let elapsedMs = 0;
  const ring = new KeyRing(reads, { now: () => NOW, elapsedMs: () => elapsedMs });
  await ring.open();
  t.after(() => ring.close());
  await store.createApiKey(record);
  isHolding = true;
  const begin: Record<Read, () => unknown> = {
    'look-up': () => ring.find(record.hash),
    refresh: () => t.mock.timers.tick(2_000),
  };
  return {
    /** Sends a read and resolves when its result is held. */
    async send(name: Read): Promise<void> {
      elapsedMs += 1;
      begin[name]();
      while (!held.has(name)) await sleep(5);
    },
    async deliver(name: Read): Promise<void> {
      held.get(name)?.();
      await sleep(5);
    },
    revoke: () => store.revokeApiKey(record.id, NOW),
    restore: () => store.createApiKey(record),
    async remove() {
      using database = new DatabaseSync(join(folder, 'petstore.sqlite'));
      database.prepare('DELETE FROM api_keys WHERE id = ?').run(record.id);
    },
    async state(): Promise<string> {
      isHolding = false;
      const found = await ring.find(record.hash);
      return found === undefined ? 'unknown' : stateOfKey(found, NOW);
    },
  };
}

for (const first of ['look-up', 'refresh'] as const) {
  const second = first === 'look-up' ? 'refresh' : 'look-up';
  for (const order of [
    [first, second],
    [second, first],
  ] as const) {
    test(`a key revoked between a ${first} and a ${second} stays revoked when the ${order[0]} ends first`, async (t) => {
      const ring = await openDelayed(t);
      await ring.send(first);
      await ring.revoke();
      await ring.send(second);
      for (const read of order) await ring.deliver(read);
      assert.equal(await ring.state(), 'revoked');
    });
  }
}

for (const order of [
  ['look-up', 'refresh'],
  ['refresh', 'look-up'],
] as const) {
  test(`a key removed between a look-up and a refresh is unknown when the ${order[0]} ends first`, async (t) => {
    const ring = await openDelayed(t);
    await ring.send('look-up');
    await ring.remove();
    await ring.send('refresh');
    for (const read of order) await ring.deliver(read);
    assert.equal(await ring.state(), 'unknown');
  });
}

test('a key made while the keys are being read stays known when that read ends', async (t) => {
  const ring = await openDelayed(t);
  await ring.remove();
  await ring.send('refresh');
  await ring.restore();
  await ring.send('look-up');
  await ring.deliver('look-up');
  await ring.deliver('refresh');
  assert.equal(await ring.state(), 'active');
});

/** A ring on a real store whose queries are counted, and whose refreshes come when the test says so. */
async function openCounted(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const store = openHere(t);
  const counts = { lookUps: 0 };
  let isGone = false;
  const reads = {
    findApiKey: (hash: string) => {
      counts.lookUps += 1;
      return store.findApiKey(hash);
    },
    listApiKeys: () => (isGone ? Promise.reject(new Error('gone')) : store.listApiKeys()),
  };
  const ring = new KeyRing(reads, { now: () => NOW, elapsedMs: () => performance.now() });
  await ring.open();
  t.after(() => ring.close());
  return {
    store,
    ring,
    counts,
    refresh: () => t.mock.timers.tick(2_000),
    lose: () => {
      isGone = true;
    },
    /** Looks for as many keys as exist nowhere. */
    forge: async (count: number) => {
      for (let index = 0; index < count; index += 1) await ring.find(newRecord().hash);
    },
  };
}

test('an unknown key is looked up once between two refreshes', async (t) => {
  const { ring, counts, refresh } = await openCounted(t);
  const { hash } = newRecord();
  for (let index = 0; index < 5; index += 1) assert.equal(await ring.find(hash), undefined);
  assert.equal(counts.lookUps, 1);
  refresh();
  await sleep(5);
  assert.equal(await ring.find(hash), undefined);
  assert.equal(counts.lookUps, 2);
});

test('a key that was unknown and is then made is known from the next refresh on', async (t) => {
  const { store, ring, refresh } = await openCounted(t);
  const record = newRecord();
  assert.equal(await ring.find(record.hash), undefined);
  await store.createApiKey(record);
  refresh();
  await sleep(5);
  assert.equal((await ring.find(record.hash))?.id, record.id);
});

test('beyond 100 look-ups a new key waits for the next refresh and is found, and a forged one is not', async (t) => {
  const { store, ring, counts, refresh, forge } = await openCounted(t);
  await forge(100);
  const record = newRecord();
  await store.createApiKey(record);
  const real = ring.find(record.hash);
  const forged = ring.find(newRecord().hash);
  assert.equal(await Promise.race([real, forged, sleep(50, 'waits')]), 'waits');
  refresh();
  assert.equal((await real)?.id, record.id);
  assert.equal(await forged, undefined);
  assert.equal(counts.lookUps, 100);
  await forge(100);
  assert.equal(counts.lookUps, 200, 'the refresh allows as many again');
});

test('a key that waits for a refresh that fails is refused as unavailable, never as unknown', async (t) => {
  const { store, ring, refresh, forge, lose } = await openCounted(t);
  await forge(100);
  const record = newRecord();
  await store.createApiKey(record);
  const waiting = ring.find(record.hash);
  lose();
  refresh();
  await assert.rejects(async () => waiting, { code: 'unavailable' });
});

test('at most 1,000 unknown keys wait for a refresh; the next one is refused as overloaded', async (t) => {
  const { ring, refresh, forge } = await openCounted(t);
  await forge(100);
  const waiting = Array.from({ length: 1_000 }, () => ring.find(newRecord().hash));
  await assert.rejects(async () => ring.find(newRecord().hash), { code: 'overloaded' });
  refresh();
  for (const key of waiting) assert.equal(await key, undefined);
});

test('at most 2 look-ups are in flight', async (t) => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let inFlight = 0;
  const slow = {
    findApiKey: () => {
      inFlight += 1;
      return promise;
    },
    listApiKeys: async () => [],
  };
  const ring = new KeyRing(slow, { now: () => NOW, elapsedMs: () => 0 });
  await ring.open();
  t.after(() => ring.close());
  for (let index = 0; index < 10; index += 1) void ring.find(newRecord().hash);
  assert.equal(inFlight, 2);
  resolve(undefined);
});
