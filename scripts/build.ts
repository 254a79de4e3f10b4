// Writes build/, which the npm package holds instead of the sources: the program as JavaScript, and the other
// files that it reads, in the folders of the repository. `npm pack` runs this first.

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, normalize } from 'node:path';

const ROOT = dirname(import.meta.dirname);
export const BUILD = join(ROOT, 'build');

/** Scripts without types for browsers, which get a TypeScript file of the repository under its own name. */
function buildBrowserScripts(): void {
  const files = new Set(globSync('src/web/*/page/*.ts', { cwd: ROOT }));
  for (const file of files) {
    const script = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'));
    for (const [, path = ''] of script.matchAll(/\bfrom '(\.[^']+)'/g)) {
      files.add(normalize(join(dirname(file), path)));
    }
    const target = join(BUILD, file.replace(/\.ts$/, '.browser.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, script);
  }
}

function build(): void {
  rmSync(BUILD, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json')], {
    stdio: 'inherit',
  });
  for (const file of globSync(['src/**/*.*', 'docs/*.md', 'CHANGELOG.md'], { cwd: ROOT })) {
    if (!/\.ts$|tsconfig\.json$|README\.md$/.test(file))
      cpSync(join(ROOT, file), join(BUILD, file));
  }
  buildBrowserScripts();
}

if (import.meta.main) build();
