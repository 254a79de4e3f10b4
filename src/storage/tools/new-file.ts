// A new database file gets its name only when it is complete.

import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreUnusable } from '../../domain/store.ts';
import { fileError } from '../sqlite/errors.ts';
import { createFolder, syncFile, syncName } from '../sqlite/sync.ts';

/** What SQLite adds to the name of a database for the files beside it. */
export const LOG_SUFFIXES = ['-journal', '-wal', '-shm'] as const;

const withLogs = (file: string) => ['', ...LOG_SUFFIXES].map((suffix) => `${file}${suffix}`);

/** Refuses a name with a file, or with the log of a deleted one: SQLite would apply it to the new file. */
export function requireUnusedName(file: string): void {
  if (LOG_SUFFIXES.some((suffix) => file.endsWith(suffix))) {
    throw new StoreUnusable(
      `${file} would be taken for a log of SQLite: name a file that does not end in ${LOG_SUFFIXES.join(', ')}.`,
    );
  }
  const used = withLogs(file).find((name) => existsSync(name));
  if (used === undefined) return;
  throw new StoreUnusable(
    `${used} exists: name a file that does not exist yet, or move this one away.`,
  );
}

/**
 * A new file that only its owner can read. It is removed at the end, unless it was renamed. With the number of the
 * process in its name, no two runs touch the file of each other.
 */
export function temporaryFile(file: string) {
  const name = `${file}.${process.pid}.partial`;
  requireUnusedName(name);
  try {
    createFolder(dirname(name));
    closeSync(openSync(name, 'wx', 0o600));
  } catch (error) {
    throw fileError(file, error, 'cannot be created');
  }
  return {
    name,
    /** Gives the complete file its name. */
    publish(): void {
      syncFile(name);
      requireUnusedName(file);
      renameSync(name, file);
      syncName(file);
    },
    [Symbol.dispose]() {
      for (const each of withLogs(name)) rmSync(each, { force: true });
    },
  };
}
