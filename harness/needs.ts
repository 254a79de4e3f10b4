// What a test needs beyond Node.js and the packages. Every test that cannot run is skipped with a reason of `needs`:
// `.ci/run` reads what is missing, and fails if it is there.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Daemons are often installed in folders that are only in the PATH of root. */
const FOLDERS = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  '/usr/local/sbin',
  '/usr/sbin',
  '/sbin',
];

/** The file of a program, or undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The value for the `skip` option of a test: the reason, or false. */
export function needs(what: string, isThere: boolean): string | false {
  return !isThere && `needs ${what}`;
}

export function needsProgram(name: string, isThere = findProgram(name) !== undefined) {
  return needs(`${name}, which is not installed`, isThere);
}

export const NEEDS_LINUX = needs('Linux', process.platform === 'linux');
export const OLDER_NODE = 'an older Node.js';
