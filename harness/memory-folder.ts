// This file is loaded before every test file. It makes tests keep their files in memory if the system can: the
// disk of a shared machine may stall for more than 4 seconds, and the store then refuses a write. It also lets the
// test files share compiled code, with each other and with the program.

import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY_FOLDER = '/dev/shm';
const FREE_BYTES_MIN = 4 * 1024 ** 3;
const VARIABLE = 'TMPDIR';

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** As in bin/petstore.js. */
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/petstore');

// The processes of the test files inherit the variables from the runner, which has loaded this file too.
if (!process.env[VARIABLE]?.startsWith(MEMORY_FOLDER) && freeBytes() >= FREE_BYTES_MIN) {
  const folder = mkdtempSync(`${MEMORY_FOLDER}/petstore-tests-`);
  // The mode of the system's temporary folder, because PostgreSQL runs as another user.
  chmodSync(folder, 0o1777);
  process.env[VARIABLE] = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
}
