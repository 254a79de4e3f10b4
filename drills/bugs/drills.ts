// Each drill as a test that has its name, with the rounds of `--quick`: a bug of the list may name the drill that
// must find it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DRILLS } from '../drills.ts';

/** A bug is found in every run, or it cannot be judged. */
const SEED = 1;

for (const [name, load] of Object.entries(DRILLS)) {
  test(name, async (t) => {
    const { drill } = await load();
    const missing = drill.findMissing?.() ?? false;
    if (missing !== false) return t.skip(missing);
    const options = { rounds: drill.quickRounds, seed: SEED, onProgress: () => undefined };
    const { violations } = await drill.run(options);
    if (violations.length > 0) assert.fail(violations[0]);
  });
}
