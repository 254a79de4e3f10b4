// The unit tests that start no server, in one process: starting one for each file would take longer than the tests.

import { createRequire } from 'node:module';
import { unitFiles } from './support/unit-files.ts';

// With `import()`, the runner could end the process when the tests of the first files have ended.
const require = createRequire(import.meta.url);
for (const file of unitFiles().shared) require(`../${file}`);
