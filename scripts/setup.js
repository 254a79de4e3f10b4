// Installs what is missing, then gets out of the way.
//
// `npm start` and `npm test` call this before anything else, with whatever Node.js the machine has:
// it is therefore plain JavaScript that an old Node.js can run, and it imports nothing of ours.
// Node.js 26 itself arrives as a dependency, and npm puts it first on the path of the next script.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, 'node_modules', '.petstore-setup');
const wanted = process.argv[2] === 'development' ? 'development' : 'runtime';
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

const [stampedLock, stampedExtent] = existsSync(stampFile)
  ? readFileSync(stampFile, 'utf8').trim().split(' ')
  : [];
// A development install holds everything the runtime needs, so it serves both.
const inPlace =
  stampedLock === lock && (stampedExtent === wanted || stampedExtent === 'development');

if (!inPlace) {
  process.stderr.write(`Installing dependencies (${wanted}), once …\n`);
  const extent = wanted === 'runtime' ? ['--omit=dev'] : ['--include=dev'];
  // `ci` on a clean tree; `install` adds to one that a running server may be using.
  const verb = existsSync(stampFile) ? ['install', '--no-save'] : ['ci'];
  const result = spawnSync(
    'npm',
    [...verb, ...extent, '--include=optional', '--ignore-scripts', '--loglevel=error'],
    { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' },
  );
  if (result.status !== 0) {
    process.stderr.write('The installation failed; the lines above say why.\n');
    process.exit(1);
  }
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, `${lock} ${wanted}\n`);
}
