// The unit tests that start no server, in one process: starting one for each file would take longer than the tests.

import { unitFiles } from './support/unit-files.ts';

for (const file of unitFiles().shared) await import(`../${file}`);
