// The unit tests, *.unit.test.ts, in one process: starting one for each file would take longer than the tests. They
// start no server and have no hooks outside a suite, which would run for the tests of every file.

import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// With `import()`, the runner could end the process when the tests of the first files have ended.
const require = createRequire(import.meta.url);
const root = join(import.meta.dirname, '..');
for (const file of globSync('{src,sdk,check}/**/*.unit.test.ts', { cwd: root }).toSorted()) {
  require(`../${file}`);
}
