// A new database file gets its name only when it is complete.

import { existsSync, linkSync, rmSync, statSync } from 'node:fs';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { createFile } from './connection.ts';
import { syncFile, syncName } from './sync.ts';

const LOGS = ['-journal', '-wal', '-shm'];

/** Refuses a name with a file, or with the log of a deleted one: SQLite would apply it to the new file. */
export function requireUnusedName(file: string): void {
  const used = [file, ...LOGS.map((suffix) => `${file}${suffix}`)].find((name) => existsSync(name));
  if (used !== undefined) throw exists(used);
}

export interface TemporaryFile extends Disposable {
  name: string;
  /** Gives the complete file its name. */
  publish(file: string): void;
}

/** A new file that only its owner can read. It is removed at the end, unless it was renamed. */
export function temporaryFile(name: string): TemporaryFile {
  const remove = () => {
    for (const suffix of ['', ...LOGS]) rmSync(`${name}${suffix}`, { force: true });
  };
  remove();
  createFile(name);
  const id = idOf(name);
  return {
    name,
    publish(file) {
      syncFile(name);
      // Another process that writes the same target has removed this file and created its own.
      if (idOf(name) !== id) {
        throw new Refusal('unavailable', `Another program has replaced ${name}.`);
      }
      try {
        // A link, unlike a rename, never replaces a file that has appeared meanwhile.
        linkSync(name, file);
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? exists(file) : error;
      }
      syncName(file);
    },
    [Symbol.dispose]: remove,
  };
}

/** The number of an inode may be used again, but not with the same time of birth. */
function idOf(name: string): string {
  const stats = statSync(name, { bigint: true, throwIfNoEntry: false });
  return `${stats?.ino} ${stats?.birthtimeNs}`;
}

function exists(file: string): StoreUnusable {
  return new StoreUnusable(
    `${file} exists: name a file that does not exist yet, or move this one away.`,
  );
}
