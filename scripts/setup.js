// Installs the dependencies that are missing: `setup.js runtime` or `setup.js development`, or `setup.js FILE …`, which
// then runs the file with the Node.js that the project needs.
//
// `npm start` and `npm test` run this first, on the Node.js that the machine has. It is therefore plain
// JavaScript that an old Node.js can run, and it imports no file of this project. The Node.js that the
// project needs is itself a dependency; npm puts it first on the PATH of the next script.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const stampFile = join(modules, '.petstore-setup');
const lockFile = join(root, 'package-lock.json');
/** npm's record of the packages that it has installed. */
const installedLockFile = join(modules, '.package-lock.json');
const args = process.argv.slice(2);
const wanted = args[0] === 'runtime' ? 'runtime' : 'development';
/** As in bin/petstore.js. */
const NODE_MAJOR_MIN = 26;

const lock = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
const [stampedLock, stampedExtent] = existsSync(stampFile)
  ? readFileSync(stampFile, 'utf8').trim().split(' ')
  : [];

// A development install also has everything that the runtime needs.
if (stampedLock !== lock || (stampedExtent !== wanted && stampedExtent !== 'development')) {
  if (installedExtent() === undefined) install();
  tryInstalledNode();
  writeFileSync(stampFile, `${lock} ${installedExtent() ?? wanted}\n`);
}
if (args[0] !== 'runtime' && args[0] !== 'development') run();

/** What is installed already, for example by `npm ci`; undefined if something that is wanted is missing. */
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

/** False for a package that needs a certain C library: npm decides whether to install it. */
function isForThisMachine({ os = [], cpu = [], libc }) {
  return os.includes(process.platform) && cpu.includes(process.arch) && libc === undefined;
}

function install() {
  process.stderr.write(`Installing dependencies (${wanted}), once …\n`);
  // Packages for development are kept.
  const hasDevelopment = Object.values(packagesOf(installedLockFile)).some(({ dev }) => dev);
  const extent = wanted === 'runtime' && !hasDevelopment ? '--omit=dev' : '--include=dev';
  // `ci` deletes node_modules, which a running server may be using; `install` only adds to it.
  const verb = existsSync(installedLockFile) ? ['install', '--no-save'] : ['ci'];
  const result = spawnSync(
    'npm',
    [...verb, extent, '--include=optional', '--ignore-scripts', '--loglevel=error'],
    { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' },
  );
  if (result.status !== 0) fail('The installation failed; the lines above say why.');
}

/**
 * Runs the installed Node.js once, because a minimal Linux may lack a library that it needs. One that does
 * not run is renamed: npm would use it for the next script, which then fails without saying what to do.
 */
function tryInstalledNode() {
  const node = join(modules, '.bin', 'node');
  const aside = join(modules, '.bin', 'node-set-aside');
  if (existsSync(aside)) renameSync(aside, node);
  if (process.platform === 'win32' || !existsSync(node)) return;
  const { status, stderr, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status === 0) return;
  renameSync(node, aside);
  // The Node.js of the machine is new enough.
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) return;
  const reason = error ? error.message : stderr.trim().split('\n')[0];
  fail(`The installed Node.js does not run (${reason})${remedyFor(reason, error)}`);
}

/** Runs a file with its arguments, and ends as it does. */
function run() {
  const child = spawn('node', args, {
    env: { ...process.env, PATH: `${join(modules, '.bin')}${delimiter}${process.env.PATH}` },
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  // Ctrl-C reaches both.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code === null ? 1 : code));
}

function remedyFor(reason, error) {
  if (reason.includes('libatomic')) {
    return ': install libatomic1 on Debian or Ubuntu, libatomic on Fedora, and run this again.';
  }
  // The file exists, but the loader that it names does not.
  if (error && error.code === 'ENOENT') {
    return `: it needs glibc, and Alpine Linux has musl, which is not supported; use another Linux, or install Node.js ${NODE_MAJOR_MIN} or later with apk, and run this again.`;
  }
  return '.';
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
