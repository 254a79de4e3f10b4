// What a test needs beyond Node.js and the packages. A test that cannot run is skipped by name, and its reason begins
// with what is missing: `.ci/run` fails if a reason names a program that is installed.

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
export function needsProgram(name: string): string | false {
  return findProgram(name) === undefined && `needs ${name}, which is not installed`;
}

export const NEEDS_LINUX = process.platform !== 'linux' && 'needs Linux';
