#!/usr/bin/env node
// The `petstore` command. It runs on the current Node.js if that is new enough, and otherwise on the one that
// scripts/setup.js installed. It is plain JavaScript, because an old Node.js must be able to run it.

import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const thisFile = fileURLToPath(import.meta.url);
const root = dirname(dirname(thisFile));
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const nodeMin = engines.node.replace('>=', '');
const SQLITE_MIN = '3.51.3';
// As in `npm start`. Without it the young generation of the heap grows under load, from 14 to 28 MiB.
const NODE_FLAGS = ['--max-semi-space-size=8'];
/** The exit code of the system's loader when a shared library is missing; no command exits with it. */
const LOADER_FAILED = 127;

const installed = ['node', 'node.exe']
  .map((name) => join(root, 'node_modules', '.bin', name))
  .find((path) => existsSync(path));

if (isAtLeast(process.versions.node, nodeMin)) await runHere();
else if (installed !== undefined) await runOn(installed);
else refuse('Node.js', process.versions.node, nodeMin);

async function runHere() {
  const { sqlite = '0' } = process.versions;
  if (!isAtLeast(sqlite, SQLITE_MIN)) {
    refuse('SQLite', sqlite, SQLITE_MIN);
    return;
  }
  // Compiled code is kept for the next start. The folder must be one that other users cannot write to, unlike
  // the system's temporary folder: they could place code there that this process would run.
  module.enableCompileCache(join(root, 'node_modules', '.cache', 'petstore'));
  await import('../src/main.ts');
}

async function runOn(node) {
  const { spawn } = await import('node:child_process');
  // The path as it was given: texts for people name the command as it was started.
  const args = [...NODE_FLAGS, ...process.argv.slice(1)];
  const child = spawn(node, args, { stdio: 'inherit' });
  // Ctrl-C reaches both processes, so the child receives it twice; it counts the two as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
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
    `petstore: the installed Node.js does not run; \`node scripts/setup.js\` in ${root} says what it needs.\n`,
  );
  process.exitCode = 1;
}

function refuse(name, version, minimum) {
  process.stderr.write(
    `petstore: ${name} ${version} is too old; ${minimum} or later is needed. \`npm start\` in ${root} installs and uses its own.\n`,
  );
  process.exitCode = 2;
}

/** Compares versions such as 3.51.3 number by number. */
function isAtLeast(version, minimum) {
  return version.localeCompare(minimum, 'en', { numeric: true }) >= 0;
}
