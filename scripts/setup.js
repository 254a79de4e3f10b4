// Installs what is missing, then gets out of the way.
//
// `npm start` and `npm test` call this before anything else, with whatever Node.js the machine has:
// it is therefore plain JavaScript that an old Node.js can run, and it imports nothing of ours.
// Node.js 26 itself arrives as a dependency, and npm puts it first on the path of the next script.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const stampFile = join(modules, '.petstore-setup');
const lockFile = join(root, 'package-lock.json');
/** npm's own note of what it has installed. */
const installedLockFile = join(modules, '.package-lock.json');
const wanted = process.argv[2] === 'development' ? 'development' : 'runtime';

const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const nodeMajorMin = Number.parseInt(engines.node.replace('>=', ''), 10);

const lock = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
const [stampedLock, stampedExtent] = existsSync(stampFile)
  ? readFileSync(stampFile, 'utf8').trim().split(' ')
  : [];

// A development install holds everything the runtime needs, so it serves both.
if (stampedLock !== lock || (stampedExtent !== wanted && stampedExtent !== 'development')) {
  if (installedExtent() === undefined) install();
  tryInstalledNode();
  writeFileSync(stampFile, `${lock} ${installedExtent() ?? wanted}\n`);
}

/** What is there already, such as by `npm ci`: everything, what the runtime needs, or too little. */
function installedExtent() {
  const extents = wanted === 'runtime' ? ['development', 'runtime'] : ['development'];
  const found = packagesOf(installedLockFile);
  const needed = Object.entries(packagesOf(lockFile)).filter(([path]) => path !== '');
  return extents.find((extent) =>
    needed.every(
      ([path, { dev, devOptional, optional, version, ...machine }]) =>
        (extent === 'runtime' && (dev || devOptional)) ||
        (optional && !isForThisMachine(machine)) ||
        (found[path] && found[path].version === version && existsSync(join(root, path))),
    ),
  );
}

function packagesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}

/** A package for one kind of C library is left to npm to choose. */
function isForThisMachine({ os = [], cpu = [], libc }) {
  return os.includes(process.platform) && cpu.includes(process.arch) && libc === undefined;
}

function install() {
  process.stderr.write(`Installing dependencies (${wanted}), once …\n`);
  // What is there for development stays there.
  const hasDevelopment = Object.values(packagesOf(installedLockFile)).some(({ dev }) => dev);
  const extent = wanted === 'runtime' && !hasDevelopment ? '--omit=dev' : '--include=dev';
  // `ci` on a clean tree; `install` adds to one that a running server may be using.
  const verb = existsSync(installedLockFile) ? ['install', '--no-save'] : ['ci'];
  const result = spawnSync(
    'npm',
    [...verb, extent, '--include=optional', '--ignore-scripts', '--loglevel=error'],
    { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' },
  );
  if (result.status !== 0) fail('The installation failed; the lines above say why.');
}

/**
 * Runs the installed Node.js once, because a minimal Linux may lack what it needs. One that does not run is
 * set aside: npm would take it for the next script, this one among them, and its loader's words would be all.
 */
function tryInstalledNode() {
  const node = join(modules, '.bin', 'node');
  const aside = join(modules, '.bin', 'node-set-aside');
  if (existsSync(aside)) renameSync(aside, node);
  if (process.platform === 'win32' || !existsSync(node)) return;
  const { status, stderr, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status === 0) return;
  renameSync(node, aside);
  // The machine has one of its own that will do.
  if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) return;
  const reason = error ? error.message : stderr.trim().split('\n')[0];
  fail(`The installed Node.js does not run (${reason})${remedyFor(reason, error)}`);
}

function remedyFor(reason, error) {
  if (reason.includes('libatomic')) {
    return ': install libatomic1 on Debian or Ubuntu, libatomic on Fedora, and run this again.';
  }
  // The file is there, but not the loader that it names.
  if (error && error.code === 'ENOENT') {
    return `: it needs glibc, and Alpine Linux has musl, which is not supported; use another Linux, or install Node.js ${nodeMajorMin} or later with apk, and run this again.`;
  }
  return '.';
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
