#!/usr/bin/env node
// The `petstore` command for a shell whose own Node.js may be old: it hands over to the Node.js 26
// that was installed beside it, or runs at once where the current one is new enough.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, 'src', 'main.ts');
const NODE_MAJOR_MIN = 26;

const installed = ['node', 'node.exe']
  .map((name) => join(root, 'node_modules', '.bin', name))
  .find((path) => existsSync(path));

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) {
  await import(main);
} else if (installed === undefined) {
  process.stderr.write(
    `petstore: Node.js ${process.versions.node} is too old; ${NODE_MAJOR_MIN} or later is needed. Run \`npm ci\` in ${root} to install it.\n`,
  );
  process.exitCode = 2;
} else {
  const child = spawn(installed, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 1;
  });
}
