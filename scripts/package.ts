// Makes the release files in dist/: the npm packages of the service, of the client library and of the check, and
// the service as a single file for this platform. Prints their names.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeSingleFile } from './single-file.ts';

const ROOT = dirname(import.meta.dirname);
const DIST = join(ROOT, 'dist');

function npmPack(folder: string): void {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', DIST], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
}

mkdirSync(DIST, { recursive: true });
npmPack(ROOT);
npmPack(join(ROOT, 'sdk'));
npmPack(join(ROOT, 'check'));
const suffix = process.platform === 'win32' ? '.exe' : '';
const name = `petstore-${process.platform}-${process.arch}${suffix}`;
await makeSingleFile(join(DIST, name));
process.stdout.write(`${name}\n`);
