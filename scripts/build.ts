// Writes build/, which the npm package holds instead of the sources: the program as JavaScript, and the other
// files that it reads, in the folders of the repository. `npm pack` runs this first.

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { consolePages } from '../src/console/pages.ts';

const ROOT = dirname(import.meta.dirname);
export const BUILD = join(ROOT, 'build');
const ASSET_MODULE = /^\/assets\/(.*)\.ts$/;

export function build(): void {
  rmSync(BUILD, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json')], {
    stdio: 'inherit',
  });
  for (const file of globSync('src/**/*.*', { cwd: ROOT })) {
    if (!/\.ts$|tsconfig\.json$/.test(file)) cpSync(join(ROOT, file), join(BUILD, file));
  }
  for (const [path] of consolePages()) {
    const [, name] = ASSET_MODULE.exec(path) ?? [];
    if (name === undefined) continue;
    const script = stripTypeScriptTypes(readFileSync(join(ROOT, `${name}.ts`), 'utf8'));
    const target = join(BUILD, `${name}.browser.js`);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, script);
  }
}

if (import.meta.main) build();
