import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { newApiKey, newSecret, type ApiKey } from '../domain/api-key.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { KeyRing } from './key-ring.ts';

const NOW = new Date('2027-01-01T00:00:00Z');
const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 2_000;
/** With 10,000 keys. */
const READS = 4;

function newRecord(): ApiKey {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name: 'shop', now: NOW, randomBytes });
}

/**
 * A ring on a real store. Its time stands still until the test moves it. A read takes its result when it is
 * sent; the test can hold it back and can make it fail.
 */
async function openRing(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const folder = temporaryFolder();
  const file = join(folder, 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  const reads = { begun: 0, isGone: false, held: [] as (() => void)[], isHolding: false };
  let elapsedMs = 0;
  const counted = {
    async listApiKeys() {
      reads.begun += 1;
      const keys = await store.listApiKeys();
      if (reads.isHolding) await new Promise<void>((deliver) => reads.held.push(deliver));
      if (reads.isGone) throw new Error('gone');
      return keys;
    },
  };
  const ring = new KeyRing(counted, { now: () => NOW, elapsedMs: () => elapsedMs });
  await ring.open();
  t.after(async () => {
    reads.isHolding = false;
    for (const deliver of reads.held) deliver();
    await ring.close();
    await store.close();
  });
  return {
    ring,
    store,
    reads,
    /** Moves the clock, and with it the timers. Resolves when a read that they begin has ended or is held. */
    pass: async (ms: number) => {
      elapsedMs += ms;
      t.mock.timers.tick(ms);
      await settled();
    },
    /** Moves the clock alone, as if the process had been suspended. */
    suspend: (ms: number) => {
      elapsedMs += ms;
    },
    deliver: async () => {
      for (const deliver of reads.held.splice(0)) deliver();
      await settled();
    },
    addKey: async () => {
      const record = newRecord();
      await store.createApiKey(record);
      return record;
    },
    remove: ({ id }: ApiKey) => {
      using database = new DatabaseSync(file);
      database.prepare('DELETE FROM api_keys WHERE id = ?').run(id);
    },
  };
}

const day = (days: number) => new Date(NOW.getTime() + days * 24 * 60 * 60 * 1000);

test('keys that expire within 14 days and were used in the last 7 days are counted', async (t) => {
  const { ring, store, pass, suspend } = await openRing(t);
  const cases: [expiresAt: Date | undefined, lastUsedAt: Date | undefined, revokedAt?: Date][] = [
    [day(13), day(-6)],
    [day(14), day(-7)],
    [day(1), day(0)],
    [day(15), day(0)],
    [day(13), day(-8)],
    [day(13), undefined],
    [undefined, day(0)],
    [day(-1), day(0)],
    [day(13), day(0), day(-1)],
  ];
  for (const [expiresAt, lastUsedAt, revokedAt] of cases) {
    await store.createApiKey({ ...newRecord(), expiresAt, lastUsedAt, revokedAt });
  }
  await pass(PAUSE_MAX_MS);
  suspend(1_500);
  const counted = ring.figures().map(({ name, values }) => [name, values[0]?.value]);
  assert.deepEqual(counted, [
    ['petstore_api_keys', cases.length],
    ['petstore_api_keys_age_seconds', 1.5],
    ['petstore_api_keys_expiring', 3],
  ]);
});

const settled = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** What a promise has become by now. */
async function stateOf(found: ReturnType<KeyRing['find']>): Promise<ApiKey | 'unknown' | 'waits'> {
  await settled();
  const waits = Promise.resolve('waits' as const);
  return Promise.race([Promise.resolve(found).then((key) => key ?? 'unknown'), waits]);
}

test('a key created after the ring was opened is found by a read that begins at once', async (t) => {
  const { ring, pass, addKey } = await openRing(t);
  const record = await addKey();
  await pass(PAUSE_MIN_MS);
  assert.deepEqual(await ring.find(record.hash), record);
});

test('a known key needs no read; a revocation is known once the keys are older than 5 seconds', async (t) => {
  const { ring, store, reads, pass, suspend, addKey } = await openRing(t);
  const record = await addKey();
  await pass(PAUSE_MAX_MS);
  assert.deepEqual(ring.find(record.hash), record);
  assert.equal(reads.begun, 2);
  await store.revokeApiKey(record.id, NOW);
  suspend(5_000);
  assert.deepEqual(ring.find(record.hash), record);
  suspend(1);
  assert.deepEqual((await ring.find(record.hash))?.revokedAt, NOW);
  assert.equal(reads.begun, 3);
});

test('the 5 seconds of a revocation begin with the read that missed it, however long that takes', async (t) => {
  const { ring, store, reads, pass, suspend, deliver, addKey } = await openRing(t);
  const record = await addKey();
  reads.isHolding = true;
  await pass(PAUSE_MAX_MS);
  await store.revokeApiKey(record.id, NOW);
  reads.isHolding = false;
  suspend(4_000);
  await deliver();
  assert.deepEqual(ring.find(record.hash), record);
  suspend(1_001);
  const found = ring.find(record.hash);
  assert.equal(await stateOf(found), 'waits');
  await pass(PAUSE_MAX_MS);
  assert.deepEqual((await found)?.revokedAt, NOW);
});

test('when the keys cannot be read for over 5 seconds, no key is accepted', async (t) => {
  const { ring, reads, pass, suspend, addKey } = await openRing(t);
  const record = await addKey();
  await pass(PAUSE_MAX_MS);
  reads.isGone = true;
  suspend(5_000);
  assert.deepEqual(ring.find(record.hash), record);
  suspend(1);
  await assert.rejects(async () => ring.find(record.hash), { code: 'unavailable' });
  reads.isGone = false;
  await pass(PAUSE_MIN_MS);
  assert.deepEqual(await ring.find(record.hash), record, 'it recovers by itself');
});

test('a store that cannot be read at the start does not open', async () => {
  const gone = { listApiKeys: () => Promise.reject(new Error('gone')) };
  const ring = new KeyRing(gone, { now: () => NOW, elapsedMs: () => 0 });
  await assert.rejects(ring.open(), { code: 'unavailable', cause: new Error('gone') });
  await ring.close();
});

test('without requests the keys are read every 2 seconds', async (t) => {
  const { reads, pass } = await openRing(t);
  for (let begun = 1; begun < 5; begun += 1) {
    assert.equal(reads.begun, begun);
    await pass(PAUSE_MAX_MS - 1);
    assert.equal(reads.begun, begun);
    await pass(1);
  }
});

test('a key that arrives during a read waits for the next one', async (t) => {
  const { ring, reads, pass, deliver, addKey } = await openRing(t);
  reads.isHolding = true;
  await pass(PAUSE_MAX_MS);
  assert.equal(reads.held.length, 1);
  const record = await addKey();
  const found = ring.find(record.hash);
  await deliver();
  assert.equal(await stateOf(found), 'waits', 'the read that is over began before the key arrived');
  await pass(PAUSE_MIN_MS);
  await deliver();
  assert.deepEqual(await found, record);
});

test('a known key that arrives during a read, after 5 seconds without one, waits for no other read', async (t) => {
  const { ring, reads, pass, suspend, deliver, addKey } = await openRing(t);
  const record = await addKey();
  await pass(PAUSE_MAX_MS);
  reads.isHolding = true;
  suspend(5_001);
  const [first, second] = [ring.find(record.hash), ring.find(record.hash)];
  await pass(0);
  await deliver();
  assert.deepEqual([await first, await second], [record, record]);
  assert.equal(reads.begun, 3);
});

test('a key that arrives during a read that fails waits for the next one', async (t) => {
  const { ring, reads, pass, deliver } = await openRing(t);
  reads.isHolding = true;
  reads.isGone = true;
  await pass(PAUSE_MAX_MS);
  const found = ring.find(newRecord().hash);
  await deliver();
  assert.equal(await stateOf(found), 'waits');
  reads.isGone = false;
  await pass(PAUSE_MIN_MS);
  await deliver();
  assert.equal(await found, undefined);
});

test('unknown keys that arrive before the next read may begin share it', async (t) => {
  const { ring, store, reads, pass } = await openRing(t);
  const record = newRecord();
  const [known, forged] = [ring.find(record.hash), ring.find(newRecord().hash)];
  await pass(PAUSE_MIN_MS - 1);
  await store.createApiKey(record);
  assert.equal(reads.begun, 1);
  await pass(1);
  assert.deepEqual([await known, await forged], [record, undefined]);
  assert.equal(reads.begun, 2);
});

test('a key that was removed is unknown after the next read', async (t) => {
  const { ring, pass, remove, addKey } = await openRing(t);
  const record = await addKey();
  await pass(PAUSE_MAX_MS);
  assert.deepEqual(ring.find(record.hash), record);
  remove(record);
  await pass(PAUSE_MAX_MS);
  const found = ring.find(record.hash);
  await pass(PAUSE_MIN_MS);
  assert.equal(await found, undefined);
});

for (const [readMs, pauseMs] of [
  [0, PAUSE_MIN_MS],
  [5, PAUSE_MIN_MS],
  [40, 800],
  [100, PAUSE_MAX_MS],
  [1_000, PAUSE_MAX_MS],
] as const) {
  test(`after a read that took ${readMs} ms, an unknown key causes the next one ${pauseMs} ms later`, async (t) => {
    const { ring, reads, pass, deliver } = await openRing(t);
    reads.isHolding = true;
    await pass(PAUSE_MAX_MS);
    const waiting = ring.find(newRecord().hash);
    await pass(readMs);
    await deliver();
    await pass(pauseMs - 1);
    assert.equal(reads.begun, 2);
    await pass(1);
    assert.equal(reads.begun, 3);
    await deliver();
    assert.equal(await waiting, undefined);
  });
}

test('a key that waits for a read that fails is refused as unavailable, never as unknown', async (t) => {
  const { ring, reads, pass, addKey } = await openRing(t);
  const record = await addKey();
  const waiting = ring.find(record.hash);
  reads.isGone = true;
  await Promise.all([
    pass(PAUSE_MIN_MS),
    assert.rejects(async () => waiting, { code: 'unavailable' }),
  ]);
  reads.isGone = false;
  const again = ring.find(record.hash);
  await pass(PAUSE_MIN_MS);
  assert.deepEqual(await again, record);
});

test('a closed ring reads no more, also if a read was under way', async (t) => {
  const { ring, reads, pass, deliver } = await openRing(t);
  reads.isHolding = true;
  await pass(PAUSE_MAX_MS);
  const closed = ring.close();
  await deliver();
  await closed;
  await pass(10 * PAUSE_MAX_MS);
  assert.equal(reads.begun, 2);
});

test('with 10,000 keys, a stream of invented keys leaves the process free for 20 times as long as it reads', async (t) => {
  const folder = temporaryFolder();
  const file = join(folder, 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  const record = newRecord();
  await store.createApiKey(record);
  {
    using database = new DatabaseSync(file);
    database.exec(`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)
      INSERT INTO api_keys (id, hash, name, scopes, created_at)
      SELECT 'key_' || n, lower(hex(randomblob(32))), 'shop ' || n, 'pets:read', n FROM numbers`);
  }
  const reads: { beganAtMs: number; durationMs: number }[] = [];
  const timed = {
    async listApiKeys() {
      const beganAtMs = performance.now();
      const keys = await store.listApiKeys();
      reads.push({ beganAtMs, durationMs: performance.now() - beganAtMs });
      return keys;
    },
  };
  const ring = new KeyRing(timed, { now: () => NOW, elapsedMs: () => performance.now() });
  await ring.open();
  t.after(async () => {
    await ring.close();
    await store.close();
  });

  let refused = 0;
  const forgers = Array.from({ length: 500 }, async () => {
    while (reads.length < READS) {
      assert.equal(await ring.find(newRecord().hash), undefined);
      refused += 1;
    }
  });
  while (reads.length < READS) {
    assert.equal((await ring.find(record.hash))?.id, record.id);
    await sleep(5);
  }
  await Promise.all(forgers);

  for (const [index, { beganAtMs, durationMs }] of reads.entries()) {
    const next = reads[index + 1];
    if (next === undefined) continue;
    const pauseMs = next.beganAtMs - beganAtMs - durationMs;
    // A timer of Node.js may fire a millisecond early.
    assert.ok(pauseMs >= Math.min(PAUSE_MAX_MS, 20 * durationMs) - 2, `${durationMs}, ${pauseMs}`);
  }
  const times = reads.map(({ durationMs }) => durationMs.toFixed(0));
  t.diagnostic(`${refused} invented keys, reads of ${times.join(', ')} ms`);
});
