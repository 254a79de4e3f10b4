import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, type DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import type { OnProgress } from '../copy.ts';
import type { Verification } from '../verify.ts';
import { openAsIs } from './connection.ts';
import { isTemporary, namedCause } from './errors.ts';
import { requireUnusedName, temporaryFile } from './new-file.ts';
import { syncFile } from './sync.ts';
import { nameFile, openToRead, verify, type OpenStore } from './verify.ts';

/** How many pages are copied at a time. Between two steps the progress is shown. */
const STEP_PAGES = 100;

/**
 * Copies the store into a new file while other processes read and write, and checks the copy. It keeps the schema
 * of the store, so that a program of that version can use it.
 */
export async function backUpStore(
  file: string,
  target: string,
  onProgress: OnProgress,
): Promise<Verification> {
  using source = openToRead(file);
  requireFolder(dirname(target));
  requireUnusedName(target);
  using partial = temporaryFile(`${target}.partial`);
  const verification = await copyStore(source, partial.name, {
    onProgress,
    change: () => undefined,
  });
  partial.publish(target);
  return verification;
}

/** A folder that is created because of a typing error would hide the backup. */
function requireFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new StoreUnusable(`there is no folder ${folder}: create it, or name another one.`);
}

/** Copies a store into a file, then changes and checks the copy. */
export async function copyStore(
  { file, database }: OpenStore,
  target: string,
  options: { onProgress: OnProgress; change: (copy: DatabaseSync) => void },
): Promise<Verification> {
  try {
    await copyDatabase(database, target, options.onProgress);
    return finishCopy(target, file, options.change);
  } catch (error) {
    if (!isTemporary(error)) throw nameFile(file, error);
    const failed = `${file} cannot be copied to ${target}.`;
    throw new Refusal('unavailable', failed, { cause: namedCause(error, target) });
  }
}

async function copyDatabase(
  source: DatabaseSync,
  target: string,
  onProgress: OnProgress,
): Promise<void> {
  // One snapshot for all steps. Without it, SQLite begins again after every commit of another connection,
  // and under load the copy would never end.
  source.exec('BEGIN');
  source.prepare('SELECT count(*) FROM sqlite_schema').get();
  await backup(source, target, {
    rate: STEP_PAGES,
    progress: ({ totalPages, remainingPages }) =>
      onProgress(totalPages - remainingPages, totalPages),
  });
  source.exec('COMMIT');
}

/**
 * Changes and checks a copy, and leaves one file without a log on the disk, so that any tool can move it.
 * Throws if the copy breaks a rule.
 */
function finishCopy(
  copy: string,
  original: string,
  change: (database: DatabaseSync) => void,
): Verification {
  const database = openAsIs(copy);
  let verification: Verification;
  try {
    database.exec('PRAGMA journal_mode = DELETE');
    change(database);
    verification = verify(database);
  } finally {
    database.close();
  }
  if (verification.problems.length > 0) {
    throw new StoreUnusable(`${original} is damaged: ${verification.problems.join('; ')}.`);
  }
  syncFile(copy);
  return verification;
}
