// A short run of drills/keys.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { careless, guessOn } from '../../drills/keys/drill.ts';
import { GUESSES, type KnownKeys } from '../../drills/keys/guesses.ts';
import { findTimingViolations, signedRank } from '../../drills/keys/timing.ts';
import { newRandom } from '../../drills/random.ts';
import { sqliteStorage } from '../support/test-service.ts';

const SEED = 9;
const options = { rounds: 500, seed: SEED, onProgress: () => undefined };
const PAIRS = 32;

test('no guessed key is accepted; refusals of unknown and revoked keys are equal, on every route', async () => {
  const report = await guessOn(sqliteStorage, options, GUESSES);
  assert.deepEqual(report.violations, []);
  assert.equal(report.guesses, options.rounds);
  assert.equal(report.compared, 24);
});

test('the drill finds a key that is accepted', async () => {
  const kinds = { 'a valid key': ({ valid }: KnownKeys) => valid };
  const { violations } = await guessOn(sqliteStorage, { ...options, rounds: 5 }, kinds);
  assert.match(violations.join(), /a valid key: \w+ \/pets\S* returned 20[01]/);
});

test('the time of a refusal does not tell how much of a key is right; a careless comparison is found', async () => {
  const random = newRandom(SEED);
  const { violations } = await findTimingViolations({ pairs: PAIRS, random });
  assert.deepEqual(violations, []);
  const found = await findTimingViolations({ pairs: PAIRS, random, wrap: careless });
  assert.equal(found.violations.length, 1);
});

test('the signed-rank statistic is 0 for balanced differences and large for one-sided ones', () => {
  assert.equal(signedRank([1, -2, -3, 4]), 0);
  assert.ok(signedRank(Array.from({ length: 40 }, (_, index) => index + 1)) > 5);
});
