// A new database file gets its name only when it is complete.

import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import { freeName } from './file-identity.ts';
import { createFolder, syncFile, syncName } from './sync.ts';

const OWNER_ONLY = 0o600;
/** What SQLite adds to the name of a database for the files beside it. */
export const LOG_SUFFIXES = ['-journal', '-wal', '-shm'] as const;

/** The locks of the files that `backup`, `copy` and `restore` write. */
const LEFT = /\.(partial|restoring)-\d+-lock$/;

/** The errors of file systems that have no links, such as FAT and some network file systems. */
const CANNOT_LINK = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'];

/** Refuses a name with a file, or with the log of a deleted one: SQLite would apply it to the new file. */
export function requireUnusedName(file: string): void {
  if (LOG_SUFFIXES.some((suffix) => file.endsWith(suffix))) {
    throw new StoreUnusable(
      `${file} would be taken for a log of SQLite: name a file that does not end in ${LOG_SUFFIXES.join(', ')}.`,
    );
  }
  const used = withLogs(file).find((name) => existsSync(name));
  if (used !== undefined) throw exists(used);
}

/**
 * A new file that only its owner can read. It is removed at the end, unless it was renamed. Its name is the
 * given one with a number, and no file has it yet. A lock beside it tells others that it is in use.
 */
export function temporaryFile(base: string) {
  removeLeftovers(dirname(base));
  const name = freeName(base);
  requireUnusedName(name);
  createFolder(dirname(name));
  closeSync(openSync(name, 'ax', OWNER_ONLY));
  const lock = lockFile(lockOf(name));
  return {
    name,
    /** Gives the complete file its name. */
    publish(file: string): void {
      syncFile(name);
      try {
        // A link, unlike a rename, never replaces a file that has appeared meanwhile.
        linkOr(name, file, () => {
          closeSync(openSync(file, 'ax', OWNER_ONLY));
          renameSync(name, file);
        });
      } catch (error) {
        throw codeOf(error) === 'EEXIST' ? exists(file) : error;
      }
      syncName(file);
    },
    [Symbol.dispose]() {
      removeWithLogs(name);
      lock.close();
    },
  };
}

const lockOf = (name: string) => `${name}-lock`;

/** Throws if another process has the lock. SQLite's lock is released when its process ends, even by a crash. */
function lockFile(name: string): DatabaseSync {
  const lock = new DatabaseSync(name, { timeout: 0 });
  try {
    // In memory: otherwise SQLite creates one more file.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Removes what a killed process has left. A file without a lock beside it is not of this program. */
function removeLeftovers(folder: string): void {
  const locks = existsSync(folder) ? readdirSync(folder).filter((name) => LEFT.test(name)) : [];
  for (const name of locks) {
    try {
      using _ = lockFile(join(folder, name));
      removeWithLogs(join(folder, name.slice(0, -lockOf('').length)));
    } catch {
      // The process is still running, or the file belongs to another user.
    }
  }
}

/** The lock is removed last: until then, no other process treats the file as one without a lock. */
function removeWithLogs(name: string): void {
  for (const each of [...withLogs(name), lockOf(name)]) rmSync(each, { force: true });
}

/** Gives a file a second name. Calls `instead` on a file system without links. */
export function linkOr(file: string, name: string, instead: () => void): void {
  try {
    linkSync(file, name);
  } catch (error) {
    if (!CANNOT_LINK.includes(codeOf(error))) throw error;
    instead();
  }
}

const withLogs = (file: string) => ['', ...LOG_SUFFIXES].map((suffix) => `${file}${suffix}`);
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? '';

function exists(file: string): StoreUnusable {
  return new StoreUnusable(
    `${file} exists: name a file that does not exist yet, or move this one away.`,
  );
}
