// What somebody without a key learns: nothing, neither by guessing nor by the time of a refusal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRandom } from '../../drills/random.ts';
import { guessOn, type KnownKeys } from '../support/keys/guesses.ts';
import { careless, findTimingViolations, signedRank } from '../support/keys/timing.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { sqliteStorage, type TestStorage } from '../support/test-service.ts';

const SEED = 9;
const GUESSED = 200;
const PAIRS = 32;

async function guess(storage: TestStorage): Promise<void> {
  const report = await guessOn(storage, { guesses: GUESSED, seed: SEED });
  assert.deepEqual(report.violations, []);
  assert.equal(report.guesses, GUESSED);
  assert.equal(report.compared, 24);
}

test('no guessed key is accepted; refusals of unknown and revoked keys are equal, on every route', () =>
  guess(sqliteStorage));

test('on PostgreSQL too, no guessed key is accepted, and refusals are equal', async () => {
  const server = await PostgresServer.start();
  const newDatabase = async () => ({
    flags: ['--database', server.url()],
    remove: () => server.close(),
  });
  await guess({ name: 'PostgreSQL', newDatabase });
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
