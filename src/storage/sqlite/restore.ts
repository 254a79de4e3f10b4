import { existsSync, lstatSync, realpathSync, renameSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import { StoreFault } from '../../domain/store.ts';
import { requireEnvironment, type Access } from '../../domain/store-identity.ts';
import type { OnProgress } from '../copy.ts';
import {
  isSameStore,
  lastIdAfterRestore,
  uniteKeys,
  whyPastUnknown,
  type Past,
} from '../restore.ts';
import { API_KEY_COLUMNS, apiKeyOfRow, rowOfApiKey, type ApiKeyRow } from '../rows.ts';
import type { Verification } from '../verify.ts';
import { copyStore } from './backup.ts';
import { hasCatalogue, openAsIs } from './connection.ts';
import { setLastId } from './copy.ts';
import { unmarkDamaged } from './damage.ts';
import { fileError, isCorrupt, isLocked } from './errors.ts';
import { freeName } from './file-identity.ts';
import { findStoreIdentity, migrate } from './migrate.ts';
import { LOG_SUFFIXES, temporaryFile } from './new-file.ts';
import { keepStoreId } from './open.ts';
import { rowsOf } from './query.ts';
import { beginTransaction } from './statements.ts';
import { syncFile, syncName } from './sync.ts';
import { LAST_ID, openToRead, verify } from './verify.ts';

/** The backup and the former file must be of the environment. The identity is for a backup that has none. */
export interface RestoreOptions extends Pick<Access, 'environment' | 'identity'> {
  idsAbove?: bigint | undefined;
  now: Date;
  onProgress?: OnProgress;
}

export interface Restored {
  verification: Verification;
  /** Where the former file is now, if there was one. */
  setAside: string | undefined;
  /** Why the past of the former file does not count, or undefined if it does. */
  pastUnknown: string | undefined;
  lastIdOfBackup: bigint;
  keys: ApiKey[];
}

/**
 * Replaces the store with a backup. No id that was assigned after the backup is assigned again, and no key that
 * the former file has ended is valid again. The former file is kept beside the new one.
 */
export async function restoreStore(
  file: string,
  backupFile: string,
  options: RestoreOptions,
): Promise<Restored> {
  const { environment, onProgress = () => undefined } = options;
  // Opened before anything is changed: it may be missing or belong to another program.
  using source = openToRead(backupFile, environment, 'name another backup');
  const realFile = realFileOf(file);
  using former = lockFormer(realFile);
  const other = 'name another data folder';
  requireEnvironment(former.past?.identity, environment, { store: file, other });
  using partial = temporaryFile(realFile);
  const { verification, changed } = await copyStore(source, partial.name, {
    onProgress,
    change(copy) {
      migrate(copy, backupFile, options);
      return carryOver(copy, former.past, options);
    },
  });
  const setAside = replace(realFile, partial.name);
  keepStoreId(file, changed.identity);
  return { verification, setAside, ...changed };
}

/** Follows symbolic links, and refuses one that leads nowhere: the disk behind it may be missing. */
function realFileOf(file: string): string {
  if (existsSync(file)) return realpathSync(file);
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new StoreFault(
      `${file} is a symbolic link to a file that is missing: mount its disk, or remove the link.`,
    );
  }
  return file;
}

/** Writes the last id and the keys of both files into the copy of the backup. */
function carryOver(copy: DatabaseSync, former: Past | undefined, options: RestoreOptions) {
  using transaction = beginTransaction(copy);
  const [row] = rowsOf<[bigint | null]>(copy, 'SELECT last_backup_at FROM store_identity');
  const madeAt = typeof row?.[0] === 'bigint' ? new Date(Number(row[0])) : undefined;
  const backup = { ...readPast(copy), madeAt };
  setLastId(copy, lastIdAfterRestore(backup, former, options));
  const pastUnknown = whyPastUnknown(backup, former);
  const isSame = former !== undefined && isSameStore(backup, former);
  const keys = uniteKeys(backup.keys, isSame ? former.keys : []);
  const write = copy.prepare(
    `INSERT INTO api_keys (${API_KEY_COLUMNS}) VALUES (${API_KEY_COLUMNS.replaceAll(/\w+/g, '?')})
     ON CONFLICT (hash) DO UPDATE
     SET expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`,
  );
  for (const key of keys) write.run(...rowOfApiKey(key));
  transaction.commit();
  return { identity: backup.identity, pastUnknown, lastIdOfBackup: backup.lastId, keys };
}

function readPast(database: DatabaseSync): Past {
  const identity = findStoreIdentity(database);
  const [row] = rowsOf<[bigint]>(database, `SELECT ${LAST_ID}`);
  const select = `SELECT ${API_KEY_COLUMNS} FROM api_keys`;
  // The keys of an earlier version have fewer columns.
  const keys = identity === undefined ? [] : rowsOf<ApiKeyRow>(database, select).map(apiKeyOfRow);
  return { identity, lastId: row?.[0] ?? 0n, keys };
}

/** Reads what must not be forgotten, empties the log, and keeps every other process out until it is disposed. */
function lockFormer(file: string): Disposable & { past: Past | undefined } {
  const nothing = { past: undefined, [Symbol.dispose]: () => undefined };
  if (!existsSync(file)) return nothing;
  using opening = new DisposableStack();
  try {
    const database = opening.use(openAsIs(file));
    // This fails while any other connection is open, and removes the log otherwise.
    database.exec('PRAGMA journal_mode = DELETE');
    database.exec('BEGIN EXCLUSIVE');
    const isSound = hasCatalogue(database) && verify(database).problems.length === 0;
    const past = isSound ? readPast(database) : undefined;
    const locked = opening.move();
    return { past, [Symbol.dispose]: () => locked.dispose() };
  } catch (error) {
    if (isLocked(error)) {
      const remedy = 'stop every service and command that uses it, then restore';
      throw new StoreFault(`${file} is in use: ${remedy}.`, { cause: error });
    }
    // A damaged file proves nothing about the past, and cannot be locked.
    if (isCorrupt(error)) return nothing;
    throw fileError(file, error, 'cannot be replaced');
  }
}

/** Between the two renames there is no file: a start then fails, because the id of the store is there. */
function replace(file: string, restored: string): string | undefined {
  syncFile(restored);
  const isThere = existsSync(file);
  const setAside = freeName(`${file}.before-restore`);
  for (const suffix of ['', ...LOG_SUFFIXES]) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${setAside}${suffix}`);
  }
  // No loss of power may leave the former log beside the new file: SQLite would apply it.
  syncName(file);
  renameSync(restored, file);
  unmarkDamaged(file);
  syncName(file);
  return isThere ? setAside : undefined;
}
