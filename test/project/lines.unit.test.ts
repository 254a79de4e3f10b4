// The product may only shrink: three operations need no more code than this.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countLines } from '../../scripts/lines.ts';

/** The most lines of code of each folder of the product, as `npm run lines` counts them. */
const LINES_MAX: Readonly<Record<string, number>> = {
  bin: 95,
  check: 1_819,
  scripts: 419,
  sdk: 498,
  src: 740,
  'src/cli': 2_149,
  'src/domain': 753,
  'src/http': 2_775,
  'src/ops': 254,
  'src/pet-file': 612,
  'src/storage': 4_066,
  'src/web': 7_016,
};

test('no folder of the product has more lines of code than before', () => {
  const counts = countLines().get('product') ?? new Map<string, number>();
  assert.deepEqual([...counts.keys()].toSorted(), Object.keys(LINES_MAX));
  for (const [folder, lines] of counts) {
    const max = LINES_MAX[folder] ?? 0;
    assert.ok(
      lines <= max,
      `${folder} has ${lines} lines of code, and ${max} are allowed. Remove some, or raise the number in a commit that says which promise they buy, and who has met the event.`,
    );
  }
});
