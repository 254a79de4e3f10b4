// What somebody without a key learns by guessing: nothing. test/long/refusal-time.test.ts measures the time of refusals.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guessOn, type KnownKeys } from './guesses.ts';
import { sqliteStorage } from '../../../harness/test-service.ts';

const SEED = 9;
const GUESSED = 200;

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
