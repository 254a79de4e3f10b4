#!/usr/bin/env node
// The `petstore` command. It runs on the current Node.js if that is new enough, and otherwise on the one that
// npm installed with it. It is plain JavaScript, because Node.js 20 must be able to run it.

import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// In a clone. The npm package has the same folders below build/, as JavaScript.
const isClone = existsSync(join(root, 'src', 'main.ts'));
const NODE_MIN = '26';
const SQLITE_MIN = '3.51.3';
// As in `npm start`. Without it the young part of the heap grows under load.
const NODE_FLAGS = ['--max-semi-space-size=4'];
/** The exit code of the system's loader when a shared library is missing; no command exits with it. */
const LOADER_FAILED = 127;

const installed = findInstalledNode();

if (isAtLeast(process.versions.node, NODE_MIN)) await runHere();
else if (installed !== undefined) await runOn(installed);
else refuse('Node.js', process.versions.node, NODE_MIN);

/** Each platform has its own package, of which npm installs the one that fits. */
function findInstalledNode() {
  const require = module.createRequire(import.meta.url);
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of Object.keys(optionalDependencies)) {
    try {
      const manifest = require.resolve(`${name}/package.json`);
      return join(dirname(manifest), require(manifest).bin.node);
    } catch {
      // This package is for another platform.
    }
  }
  return undefined;
}

async function runHere() {
  const { sqlite = '0' } = process.versions;
  if (!isAtLeast(sqlite, SQLITE_MIN)) {
    refuse('SQLite', sqlite, SQLITE_MIN);
    return;
  }
  if (process.argv[2] === 'serve') addFlags();
  // Compiled code is kept for the next start. The folder must be one that other users cannot write to, unlike
  // the system's temporary folder: they could place code there that this process would run.
  module.enableCompileCache(join(root, 'node_modules', '.cache', 'petstore'));
  await import(isClone ? '../src/main.ts' : '../build/src/main.js');
}

/** A running Node.js does not take the flags any more, so this process starts again, unless it cannot. */
function addFlags() {
  const given = [...process.execArgv, process.env.NODE_OPTIONS].join(' ');
  if (/semi[-_]space/.test(given) || process.platform === 'win32') return;
  // The permission model may forbid it, and a channel to the parent, such as `node --watch`, would be lost.
  if (process.permission?.has('child') === false || process.send !== undefined) return;
  const args = [...NODE_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, [process.execPath, ...args], process.env);
}

async function runOn(node) {
  const { spawn } = await import('node:child_process');
  // The path as it was given: texts for people name the command as it was started.
  const args = [...NODE_FLAGS, ...process.argv.slice(1)];
  // Before the child starts, so that no signal ends this process alone. Ctrl-C reaches both processes, so the child
  // receives it twice; it counts the two as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  const child = spawn(node, args, { stdio: 'inherit' });
  child.on('error', reportBrokenNode);
  child.on('exit', (code, signal) => {
    if (code === LOADER_FAILED) reportBrokenNode();
    else if (signal === null) process.exitCode = code ?? 1;
    else endAs(signal);
  });
}

/** Ends this process by the signal that ended the other, so that a shell sees the same end. */
function endAs(signal) {
  process.exitCode = 1;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function reportBrokenNode() {
  process.stderr.write(
    `petstore: the installed Node.js (${installed}) does not run: it needs glibc and libatomic (the package libatomic1 on Debian and Ubuntu, libatomic on Fedora).\n`,
  );
  process.exitCode = 1;
}

function refuse(name, version, minimum) {
  const remedy = isClone
    ? `\`npm start\` in ${root} installs and uses its own.`
    : 'Install the package again without --omit=optional, or with a newer Node.js.';
  process.stderr.write(
    `petstore: ${name} ${version} is too old; ${minimum} or later is needed. ${remedy}\n`,
  );
  process.exitCode = 2;
}

/** Compares versions such as 3.51.3 number by number. `localeCompare` would load the rules of languages. */
function isAtLeast(version, minimum) {
  const [parts, least] = [version, minimum].map((each) => each.split('.').map(Number));
  const index = least.findIndex((number, place) => number !== parts[place]);
  return index === -1 || parts[index] > least[index];
}
