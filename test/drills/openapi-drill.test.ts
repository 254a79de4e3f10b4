// A short run of drills/openapi.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALTERATIONS, openAlteringProxy } from '../../drills/openapi/altered-responses.ts';
import { drillOpenApi } from '../../drills/openapi/openapi.ts';

const CASES = 200;
const SEED = 14;

test('requests made from the OpenAPI document get what it declares, and what was created is found', async () => {
  const report = await drillOpenApi({ rounds: CASES, seed: SEED, isShort: true, onProgress() {} });
  assert.deepEqual(report.violations, []);
  assert.equal(report.passed, CASES);
});

// The control of the drill has all alterations.
for (const name of ['nothing is altered', 'integers are rounded', 'a list ends too early']) {
  const alter = ALTERATIONS[name] ?? (() => undefined);
  const isFound = name in ALTERATIONS;
  test(`the search behind a proxy, ${name}: it ${isFound ? 'fails' : 'passes'}`, async () => {
    const { violations } = await drillOpenApi({
      rounds: isFound ? CASES : CASES / 4,
      seed: SEED,
      isShort: true,
      onProgress() {},
      alter: (baseUrl) => openAlteringProxy(baseUrl, alter),
    });
    assert.equal(violations.length, isFound ? 1 : 0, violations.join());
    if (isFound) assert.match(violations.join(), /; seed \d+, case after \d+ shrinks \[/);
  });
}
