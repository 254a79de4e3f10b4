import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Store } from '../domain/store.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { DeprecatedCallsRecorder } from './deprecated-calls.ts';
import { Metrics } from './metrics.ts';

const INTERVAL_MS = 5_000;
const NOW = new Date('2026-11-15T12:00:00.000Z');
const CLOCK = { now: () => NOW, elapsedMs: () => 0 };
const PATIENT = { timeout: 60_000, interval: 20 };

function openHere(t: TestContext): Store {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-recorder-'));
  const store = openSqliteStore(join(folder, 'petstore.sqlite'));
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  t.mock.timers.enable({ apis: ['setInterval'] });
  return store;
}

async function callsOf(store: Store): Promise<Record<string, number>> {
  const listed = await store.listDeprecatedCalls(NOW);
  return Object.fromEntries(listed.map(({ apiKeyId, last7Days }) => [apiKeyId, last7Days]));
}

test('calls are stored every five seconds, each of them once', async (t) => {
  const store = openHere(t);
  const metrics = new Metrics([]);
  const recorder = new DeprecatedCallsRecorder(metrics.deprecatedCalls, store, CLOCK);
  for (let calls = 1; calls <= 3; calls += 1) {
    metrics.deprecatedCall('key_a');
    t.mock.timers.tick(INTERVAL_MS);
    await t.waitFor(async () => assert.deepEqual(await callsOf(store), { key_a: calls }), PATIENT);
  }
  metrics.deprecatedCall('key_b');
  await recorder.close();
  assert.deepEqual(await callsOf(store), { key_a: 3, key_b: 1 });
});

test('calls that a failing store has refused are stored when it works again', async (t) => {
  const store = openHere(t);
  const metrics = new Metrics([]);
  let refused = 0;
  let isGone = true;
  const failing: Pick<Store, 'recordDeprecatedCalls'> = {
    recordDeprecatedCalls(calls, at) {
      if (!isGone) return store.recordDeprecatedCalls(calls, at);
      refused += 1;
      return Promise.reject(new Error('gone'));
    },
  };
  const recorder = new DeprecatedCallsRecorder(metrics.deprecatedCalls, failing, CLOCK);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    metrics.deprecatedCall('key_a');
    t.mock.timers.tick(INTERVAL_MS);
    await t.waitFor(() => assert.equal(refused, attempt), PATIENT);
  }
  isGone = false;
  t.mock.timers.tick(INTERVAL_MS);
  await t.waitFor(async () => assert.deepEqual(await callsOf(store), { key_a: 3 }), PATIENT);
  isGone = true;
  metrics.deprecatedCall('key_a');
  await recorder.close();
  assert.equal(refused, 4, 'closing does not fail because of it');
});
