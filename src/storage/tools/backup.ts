import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, type DatabaseSync } from 'node:sqlite';
import type { Environment } from '../../domain/key-form.ts';
import { StoreFault, StoreUnusable } from '../../domain/store.ts';
import type { OnProgress } from './copy.ts';
import type { Verification } from './verify.ts';
import { openAsIs } from '../sqlite/connection.ts';
import { fileError } from '../sqlite/errors.ts';
import { requireUnusedName, temporaryFile } from './new-file.ts';
import { openToRead, verify, type OpenStore } from './sqlite-verify.ts';

/** How many pages are copied at a time. Between two steps the progress is shown. */
const STEP_PAGES = 100;

/**
 * Copies the store into a new file while other processes read and write, and checks the copy. `isRecorded` is false if the time of the backup could
 * not be written into the store, which this user may only read.
 */
export async function backUpStore(
  file: string,
  target: string,
  options: { regularAt?: Date | undefined; environment?: Environment; onProgress?: OnProgress },
): Promise<Verification & { isRecorded: boolean }> {
  const { regularAt, environment, onProgress = () => undefined } = options;
  using source = openToRead(file, environment);
  requireFolder(dirname(target));
  requireUnusedName(target);
  using partial = temporaryFile(target);
  const change = (copy: DatabaseSync) => recordBackup(copy, regularAt);
  const { verification } = await copyStore(source, partial.name, { onProgress, change });
  partial.publish();
  try {
    recordBackup(source.database, regularAt);
    return { ...verification, isRecorded: true };
  } catch {
    return { ...verification, isRecorded: false };
  }
}

/** Of backups that are made again and again, so that somebody notices when they end. */
function recordBackup(database: DatabaseSync, regularAt: Date | undefined): void {
  if (regularAt === undefined) return;
  database.prepare('UPDATE store_identity SET last_backup_at = ?').run(regularAt.getTime());
}

/** A folder that is created because of a typing error would hide the backup. */
function requireFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new StoreUnusable(`there is no folder ${folder}: create it, or name another one.`);
}

/** Copies a store into a file, then changes and checks the copy. Returns also what `change` has returned. */
export async function copyStore<Changed>(
  { file, database }: OpenStore,
  target: string,
  { onProgress, change }: { onProgress: OnProgress; change: (copy: DatabaseSync) => Changed },
): Promise<{ verification: Verification; changed: Changed }> {
  try {
    await copyDatabase(database, target, onProgress);
    using copy = openAsIs(target);
    // One file without a log: any tool can move it.
    copy.exec('PRAGMA journal_mode = DELETE');
    const changed = change(copy);
    const verification = verify(copy);
    const { damage } = verification;
    if (damage.length > 0) throw new StoreFault(`${file} is damaged: ${damage.join('; ')}.`);
    return { verification, changed };
  } catch (error) {
    throw fileError(file, error, `cannot be copied to ${target}`);
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
