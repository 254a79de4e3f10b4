// What somebody without a key learns by the time of a refusal: nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRandom } from '../../harness/random.ts';
import { careless, findTimingViolations, signedRank } from './refusal-time.ts';

const SEED = 9;
const PAIRS = 32;

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
