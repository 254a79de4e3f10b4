// Writes check/dist/petstore-check.js, which the npm package of the check holds: the check and what it uses of the
// client library, in one file. `npm pack` in check/ runs this first.

import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

const CHECK = join(dirname(import.meta.dirname), 'check');

const bundled = await rolldown({ input: join(CHECK, 'petstore-check.ts'), platform: 'node' });
await bundled.write({ file: join(CHECK, 'dist', 'petstore-check.js'), format: 'esm' });
