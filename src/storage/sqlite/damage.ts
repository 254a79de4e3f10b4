// A read that fails as malformed proves nothing: SQLite reports an input/output error in the same way. Only a
// check of the whole file tells whether it is damaged, and a damaged file is remembered in a file beside it.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { StoreFault } from '../../domain/store.ts';
import { openAsIs } from './connection.ts';
import { isCorrupt } from './errors.ts';
import { findIdentity, type FileIdentity } from './file-identity.ts';
import { pragma } from './query.ts';
import { syncFile, syncName } from './sync.ts';

/** What is wrong with a file. Without `isReadable` it could not be checked at all, which proves nothing. */
export interface Fault {
  reason: string;
  isReadable: boolean;
}

/** Checks a file with a new connection, which has nothing of it in memory. Returns undefined if it is intact. */
export function findFault(file: string): Fault | undefined {
  try {
    using database = openAsIs(file);
    const found = String(pragma(database, 'quick_check(1)'));
    // The lines before the last one only name the database.
    return found === 'ok'
      ? undefined
      : { reason: found.split('\n').at(-1) ?? '', isReadable: true };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { reason, isReadable: isCorrupt(error) };
  }
}

/**
 * How the mark of a damaged file begins. The inode and the time of birth identify the database: unlike a
 * checksum they stay the same while other processes still write, and unlike the path they do not name a file
 * that was put in its place.
 */
function nameOf({ database }: FileIdentity): string {
  return `inode ${database.ino}, born ${database.birthtimeNs}: `;
}

const markOf = (realFile: string) => `${realFile}.damaged`;

/** Makes every start on this database fail, until `unmarkDamaged` is called. */
export function markDamaged(opened: FileIdentity, reason: string): void {
  const mark = markOf(opened.realFile);
  try {
    writeFileSync(mark, `${nameOf(opened)}${reason}\n`, { mode: 0o600 });
    syncFile(mark);
    syncName(mark);
  } catch {
    // Without the mark, the next start finds the damage by itself.
  }
}

/** Throws if the database at this path is marked as damaged. */
export function refuseDamaged(file: string): void {
  const found = findIdentity(file);
  if (found === undefined || !existsSync(markOf(found.realFile))) return;
  const mark = readFileSync(markOf(found.realFile), 'utf8');
  if (!mark.startsWith(nameOf(found))) return;
  const reason = mark.slice(nameOf(found).length).trim();
  throw new StoreFault(
    `${file} is damaged (${reason}): restore a backup, or repair it until petstore verify finds no problem.`,
  );
}

export function unmarkDamaged(realFile: string): void {
  rmSync(markOf(realFile), { force: true });
}
