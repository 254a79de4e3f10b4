// SQLite reports an input/output error as "malformed" too. So the process that meets one leaves a mark beside the file
// and ends, and the next start checks the whole file once.

import { existsSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { StoreFault } from '../../domain/store.ts';
import { openAsIs } from './connection.ts';
import { isCorrupt } from './errors.ts';
import { pragma } from './query.ts';
import { syncFile, syncName } from './sync.ts';

const markOf = (realFile: string) => `${realFile}.damaged`;

/** Makes the next start check the file before it is used. */
export function markDamaged(realFile: string, reason: string): void {
  const mark = markOf(realFile);
  try {
    writeFileSync(mark, `${reason}\n`, { mode: 0o600 });
    syncFile(mark);
    syncName(mark);
  } catch {
    // Without the mark, the next process that reads the damaged part ends too.
  }
}

/** Checks a file that is marked. An intact one loses its mark; a damaged one is refused. */
export function requireSound(file: string): void {
  const realFile = existsSync(file) ? realpathSync(file) : file;
  if (!existsSync(markOf(realFile))) return;
  const fault = findFault(realFile);
  if (fault === undefined) return rmSync(markOf(realFile));
  throw new StoreFault(
    `${file} is damaged (${fault}): restore a backup, or repair it until petstore verify finds no problem.`,
  );
}

/** The first fault of a file. Throws if it cannot be read, which proves nothing. */
function findFault(file: string): string | undefined {
  try {
    using database = openAsIs(file);
    const found = String(pragma(database, 'quick_check(1)'));
    // The lines before the last one only name the database.
    return found === 'ok' ? undefined : found.split('\n').at(-1);
  } catch (error) {
    if (isCorrupt(error)) return (error as Error).message;
    throw error;
  }
}
