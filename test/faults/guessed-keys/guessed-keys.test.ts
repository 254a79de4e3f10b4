// What somebody without a key learns: nothing, neither by guessing nor by the time of a refusal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRandom } from '../../../harness/random.ts';
import { guessOn, type KnownKeys } from './guesses.ts';
import { careless, findTimingViolations, signedRank } from './timing.ts';
import { sqliteStorage } from '../../../harness/test-service.ts';

const SEED = 9;
const GUESSED = 200;
const PAIRS = 32;

// The keys are in memory, so that the store makes no difference.
test('no guessed key is accepted; refusals of unknown and revoked keys are equal, on every route', async () => {
  const report = await guessOn(sqliteStorage, { guesses: GUESSED, seed: SEED });
  assert.deepEqual(report.violations, []);
  assert.equal(report.guesses, GUESSED);
  assert.equal(report.compared, 24);
});

test('a key that is accepted would be found', async () => {
  const kinds = { 'a valid key': ({ valid }: KnownKeys) => valid };
  const { violations } = await guessOn(sqliteStorage, { guesses: 5, seed: SEED, kinds });
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
