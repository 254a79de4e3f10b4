// Writes openapi.json, the copy of the OpenAPI document in the repository. A test fails when it is stale.

import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../src/http/openapi.ts';

const file = new URL('../openapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
