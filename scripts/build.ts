// Writes build/, which the npm package holds instead of the sources: the program as JavaScript, and the other
// files that it reads, in the folders of the repository. `npm pack` runs this first.

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { modulesFrom } from '../src/web/assets.ts';

const ROOT = dirname(import.meta.dirname);
export const BUILD = join(ROOT, 'build');

/** Scripts without types for browsers, which get a TypeScript file of the repository under its own name. */
function buildBrowserScripts(): void {
  for (const file of globSync('src/web/*/page/main.ts', { cwd: ROOT }).flatMap(modulesFrom)) {
    const script = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'));
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
