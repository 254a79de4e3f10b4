import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import type { KeyStore } from '../domain/store.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { KeyUses } from './key-uses.ts';

const START = new Date('2027-01-01T00:00:00Z');
const INTERVAL_MS = 30_000;
const PATIENT = { timeout: 60_000, interval: 20 };

/** The recorder on a real store with one key. The test moves the clock, and can make the store fail. */
async function openHere(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: START });
  const folder = temporaryFolder();
  const store = openSqliteStore(join(folder, 'petstore.sqlite'), NEW_STORE);
  t.after(async () => {
    await store.close();
  });
  const secret = newSecret('production', randomBytes);
  const record = newApiKey({ secret, name: 'shop', now: START, randomBytes });
  await store.createApiKey(record);
  const state = { isGone: false, attempts: 0, last: Promise.resolve() };
  const failing: Pick<KeyStore, 'recordKeyUse'> = {
    recordKeyUse(uses) {
      state.attempts += 1;
      state.last = state.isGone ? Promise.reject(new Error('gone')) : store.recordKeyUse(uses);
      return state.last;
    },
  };
  const uses = new KeyUses(failing, { now: () => new Date(), elapsedMs: () => 0 });
  return {
    uses,
    state,
    keyId: record.id,
    pass: (ms: number) => t.mock.timers.tick(ms),
    /** The last use and the last deprecated call, in milliseconds since the start. */
    recorded: async () => {
      // The recorder has learned of the commit: the file shows it earlier.
      await state.last.catch(() => undefined);
      const [key] = await store.listApiKeys();
      return [key?.lastUsedAt, key?.lastDeprecatedCallAt].map(
        (date) => date && date.getTime() - START.getTime(),
      );
    },
  };
}

test('the last use and the last deprecated call are recorded every 30 seconds', async (t) => {
  const { uses, keyId, state, pass, recorded } = await openHere(t);
  pass(1);
  uses.note(keyId);
  pass(INTERVAL_MS - 2);
  assert.equal(state.attempts, 0);
  pass(1);
  await t.waitFor(async () => assert.deepEqual(await recorded(), [1, undefined]), PATIENT);
  uses.note(keyId);
  uses.noteDeprecatedCall(keyId);
  pass(INTERVAL_MS);
  await t.waitFor(async () => assert.deepEqual(await recorded(), [30_000, 30_000]), PATIENT);
  uses.note(keyId);
  pass(INTERVAL_MS);
  await t.waitFor(async () => assert.deepEqual(await recorded(), [60_000, 30_000]), PATIENT);
  pass(INTERVAL_MS);
  assert.equal(state.attempts, 3, 'without a use nothing is written');
  await uses.close();
});

test('what was not recorded is recorded when the uses are closed', async (t) => {
  const { uses, keyId, state, pass, recorded } = await openHere(t);
  uses.note(keyId);
  pass(5);
  uses.noteDeprecatedCall(keyId);
  await uses.close();
  assert.deepEqual(await recorded(), [5, 5]);
  uses.note(keyId);
  pass(INTERVAL_MS);
  assert.equal(state.attempts, 1, 'nothing is written any more');
});

test('of several uses in an interval the first is recorded, and the first deprecated call', async (t) => {
  const { uses, keyId, pass, recorded } = await openHere(t);
  pass(5);
  uses.noteDeprecatedCall(keyId);
  pass(5);
  uses.note(keyId);
  uses.noteDeprecatedCall(keyId);
  await uses.close();
  assert.deepEqual(await recorded(), [5, 5]);
});

test('what a failing store has refused is recorded when it works again', async (t) => {
  const { uses, keyId, state, pass, recorded } = await openHere(t);
  uses.noteDeprecatedCall(keyId);
  state.isGone = true;
  pass(INTERVAL_MS);
  await t.waitFor(() => assert.equal(state.attempts, 1), PATIENT);
  state.isGone = false;
  pass(INTERVAL_MS);
  await t.waitFor(async () => assert.deepEqual(await recorded(), [0, 0]), PATIENT);
  state.isGone = true;
  uses.note(keyId);
  await uses.close();
  assert.equal(state.attempts, 3, 'closing does not fail because of it');
});

test('a deprecated call that arrives while the uses are being stored is recorded later', async (t) => {
  const { uses, keyId, pass, recorded } = await openHere(t);
  uses.note(keyId);
  pass(INTERVAL_MS);
  uses.noteDeprecatedCall(keyId);
  await t.waitFor(async () => assert.deepEqual(await recorded(), [0, undefined]), PATIENT);
  await uses.close();
  assert.deepEqual(await recorded(), [30_000, 30_000]);
});
