// A new database file gets its name only when it is complete.

import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { StoreUnusable } from '../../domain/store.ts';
import { createFile, OWNER_ONLY } from './connection.ts';
import { syncFile, syncName } from './sync.ts';

/** What SQLite adds to the name of a database for the files beside it. */
export const LOG_SUFFIXES = ['-journal', '-wal', '-shm'] as const;

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

export interface TemporaryFile extends Disposable {
  name: string;
  /** Gives the complete file its name. */
  publish(file: string): void;
}

/**
 * A new file that only its owner can read. It is removed at the end, unless it was renamed. Its name is the
 * given one with a number: no other process has a file of this name.
 */
export function temporaryFile(base: string): TemporaryFile {
  const name = createUnused(base);
  return {
    name,
    publish(file) {
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
    [Symbol.dispose]: () => withLogs(name).forEach((each) => rmSync(each, { force: true })),
  };
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

function createUnused(base: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${base}-${number}`;
    if (withLogs(name).some((each) => existsSync(each))) continue;
    try {
      createFile(name, 'ax');
      return name;
    } catch (error) {
      // Another process has just created it.
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

const withLogs = (file: string) => ['', ...LOG_SUFFIXES].map((suffix) => `${file}${suffix}`);
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? '';

function exists(file: string): StoreUnusable {
  return new StoreUnusable(
    `${file} exists: name a file that does not exist yet, or move this one away.`,
  );
}
