#!/usr/bin/env node
// The `petstore` command for a shell whose own Node.js may be old: it hands over to the Node.js 26
// that was installed beside it, or runs at once where the current one is new enough.

import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const thisFile = fileURLToPath(import.meta.url);
const root = dirname(dirname(thisFile));
const NODE_MAJOR_MIN = 26;
// Left alone, the youngest generation of the heap grows under any load: 50 MiB more, and nothing is faster.
const HEAP_FLAG = '--max-semi-space-size';
const HEAP_FLAG_MIB = 8;
/** The exit code of a program whose libraries are not there; no command of ours ends with it. */
const LOADER_FAILED = 127;

const installed = ['node', 'node.exe']
  .map((name) => join(root, 'node_modules', '.bin', name))
  .find((path) => existsSync(path));

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) {
  // The flag must be there before the program is. On Windows no process can become another, and it does without.
  const isFlagGiven = process.execArgv.some((flag) => flag.startsWith(HEAP_FLAG));
  if (!isFlagGiven && process.platform !== 'win32') {
    const flags = [`${HEAP_FLAG}=${HEAP_FLAG_MIB}`, ...process.execArgv];
    process.execve(process.execPath, [process.execPath, ...flags, ...process.argv.slice(1)]);
  }
  // What was compiled once is kept for the next start, before the first TypeScript is read. In a folder of
  // our own: one that others can write to, as the system's temporary folder is, would let them choose the code.
  module.enableCompileCache(join(root, 'node_modules', '.cache', 'petstore'));
  await import('../src/main.ts');
} else if (installed === undefined) {
  process.stderr.write(
    `petstore: Node.js ${process.versions.node} is too old; ${NODE_MAJOR_MIN} or later is needed. Run \`node scripts/setup.js\` in ${root} to install it.\n`,
  );
  process.exitCode = 2;
} else {
  const { spawn } = await import('node:child_process');
  const child = spawn(installed, [thisFile, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  const doesNotRun = () => {
    process.stderr.write(
      `petstore: the installed Node.js does not run; \`node scripts/setup.js\` in ${root} says what it needs.\n`,
    );
    process.exitCode = 1;
  };
  child.on('error', doesNotRun);
  child.on('exit', (code, signal) => {
    if (code === LOADER_FAILED) doesNotRun();
    else process.exitCode = signal === null ? (code ?? 1) : 1;
  });
}
