// Writes sdk/dist/, which the npm package of the client library holds: modules for `import` in esm/, and the
// same for `require()` in cjs/, each with its declarations. `npm pack` in sdk/ runs this first.

import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = dirname(import.meta.dirname);
const SDK = join(ROOT, 'sdk');
const DIST = join(SDK, 'dist');
const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

rmSync(DIST, { recursive: true, force: true });
for (const config of ['tsconfig.build.json', 'tsconfig.cjs.json']) {
  execFileSync(process.execPath, [tsc, '-p', join(SDK, config)], { stdio: 'inherit' });
}
writeFileSync(join(DIST, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
// The compiler leaves the names of the sources in declarations.
for (const file of globSync(join(DIST, '*', '*.d.ts'))) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
}
