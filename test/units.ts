// The unit tests, *.unit.test.ts, in one process: starting one for each file would take longer than the tests. They
// start no server and have no hooks outside a suite, which would run for the tests of every file.

import { createRequire } from 'node:module';
import { unitTestFiles } from '../harness/suites.ts';

// With `import()`, the runner could end the process when the tests of the first files have ended.
const require = createRequire(import.meta.url);
for (const file of unitTestFiles()) require(`../${file}`);
