// Writes openapi.json, the copy of the document that is kept in the tree; a test fails when it is stale.

import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../src/http/openapi.ts';

const file = new URL('../openapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
