// All tests of pages in one process, so that they share one browser. Each file can also be run alone.

import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

// As in test/units.ts.
const require = createRequire(import.meta.url);
for (const file of readdirSync(import.meta.dirname)) {
  if (file.endsWith('.test.ts')) require(`./${file}`);
}
