// All tests of pages in one process, so that they share one browser. Each file can also be run alone.

import { readdirSync } from 'node:fs';

for (const file of readdirSync(import.meta.dirname)) {
  if (file.endsWith('.test.ts')) await import(`./${file}`);
}
