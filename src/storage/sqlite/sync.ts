import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The errors of Windows, of some network file systems, and of a folder that this user cannot read. */
const CANNOT_SYNC_FOLDER = ['EPERM', 'EISDIR', 'EINVAL', 'EACCES'];

/** Makes the content of a file survive a loss of power. */
export function syncFile(file: string): void {
  sync(file, 'r+');
}

/** Makes the name of a file or folder survive a loss of power: names belong to the folder above. */
export function syncName(path: string): void {
  try {
    sync(dirname(resolve(path)), 'r');
  } catch (error) {
    if (!CANNOT_SYNC_FOLDER.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Creates a folder with those above it. SQLite syncs none of their names. */
export function createFolder(folder: string): void {
  let name = resolve(folder);
  const first = mkdirSync(name, { recursive: true, mode: 0o700 }) ?? name;
  // That of a folder that is there too: whoever created it may have been killed before that.
  syncName(name);
  while (name.length > first.length) syncName((name = dirname(name)));
}

function sync(path: string, flags: string): void {
  const descriptor = openSync(path, flags);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
