import { existsSync, linkSync, rmSync } from 'node:fs';
import { backup, type DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import type { OnProgress } from '../copy.ts';
import { unfinishedCopy } from '../unfinished-copy.ts';
import type { Verification } from '../verify.ts';
import { createFile, openAsIs } from './connection.ts';
import { isTemporary } from './errors.ts';
import { migrate, unfinishedCopyOf } from './migrate.ts';
import { syncFile, syncName } from './sync.ts';
import { nameFile, openToRead, verify, type OpenStore } from './verify.ts';

/** How many pages are copied at a time. Between two steps the progress is shown. */
const STEP_PAGES = 100;

/** Copies the store into a new file while other processes read and write, and checks the copy. */
export async function backUpStore(
  file: string,
  target: string,
  onProgress: OnProgress,
): Promise<Verification> {
  if (existsSync(target)) throw exists(target);
  using source = openToRead(file);
  using partial = temporaryFile(`${target}.partial`);
  const verification = await copyStore(source, partial.name, {
    onProgress,
    change: () => undefined,
  });
  try {
    // A link, unlike a rename, never replaces a file that has appeared meanwhile.
    linkSync(partial.name, target);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? exists(target) : error;
  }
  syncName(target);
  return verification;
}

/** A new file that only its owner can read. It is removed at the end, unless it was renamed. */
export function temporaryFile(name: string): Disposable & { name: string } {
  const remove = () => {
    for (const suffix of ['', '-journal', '-wal', '-shm'])
      rmSync(`${name}${suffix}`, { force: true });
  };
  remove();
  createFile(name);
  return { name, [Symbol.dispose]: remove };
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
    throw new Refusal('unavailable', failed, { cause: error });
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
    migrate(database, original);
    const source = unfinishedCopyOf(database);
    if (source !== undefined) throw unfinishedCopy(original, source);
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

function exists(target: string): StoreUnusable {
  return new StoreUnusable(`${target} exists: name a file that does not exist yet.`);
}
