import { existsSync, linkSync, lstatSync, realpathSync, renameSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import { StoreFault, StoreUnusable } from '../../domain/store.ts';
import {
  requireEnvironment,
  type Access,
  type StoreIdentity,
} from '../../domain/store-identity.ts';
import type { OnProgress } from './copy.ts';
import { API_KEY_COLUMNS, apiKeyOfRow, LAST_ID_MAX, rowOfApiKey, type ApiKeyRow } from '../rows.ts';
import type { Verification } from './verify.ts';
import { copyStore } from './backup.ts';
import { hasCatalogue, openAsIs } from '../sqlite/connection.ts';
import { setLastId } from './sqlite-copy.ts';
import { fileError, isCorrupt, isLocked } from '../sqlite/errors.ts';
import { freeName } from '../sqlite/file-identity.ts';
import { migrate, readStoreIdentity } from '../sqlite/migrate.ts';
import { LOG_SUFFIXES, temporaryFile } from './new-file.ts';
import { keepStoreId } from '../sqlite/open.ts';
import { rowsOf } from '../sqlite/query.ts';
import { beginTransaction, LAST_ID } from '../sqlite/statements.ts';
import { syncFile, syncName } from '../sqlite/sync.ts';
import { openToRead, verifyContent, type OpenStore } from './sqlite-verify.ts';

/** The backup and the former file must be of the environment. */
export interface RestoreOptions extends Pick<Access, 'environment'> {
  /** New ids begin above this one. Needed where the former file does not show which ids were assigned after the backup. */
  idsAbove?: bigint | undefined;
  onProgress?: OnProgress;
}

export interface Restored {
  verification: Verification;
  /** Where the former file is now, if there was one. */
  setAside: string | undefined;
  /** Whether the former file shows which keys were ended after the backup. */
  isPastKnown: boolean;
}

/** What a file says of its store. */
interface Past {
  identity: StoreIdentity;
  lastId: bigint;
  keys: ApiKey[];
}

/** Nobody knows which ids were assigned after the backup: the caller must name the one above which new ids begin. */
export class IdsUnknown extends StoreUnusable {
  readonly reason: string;
  readonly lastIdOfBackup: bigint;

  constructor(reason: string, lastIdOfBackup: bigint) {
    super(`the ids that were assigned after the backup are unknown, because ${reason}.`);
    this.reason = reason;
    this.lastIdOfBackup = lastIdOfBackup;
  }
}

/**
 * Replaces the store with a backup. No id that was assigned after the backup is assigned again, and no key that
 * the former file has ended is valid again. The former file is kept beside the new one.
 */
export async function restoreStore(
  file: string,
  backupFile: string,
  { environment, idsAbove, onProgress = () => undefined }: RestoreOptions,
): Promise<Restored> {
  // Opened before anything is changed: it may be missing or belong to another program.
  using source = openToRead(backupFile, environment, 'name another backup');
  const realFile = realFileOf(file);
  using former = lockFormer(realFile);
  const other = 'name another data folder';
  if (former.past) requireEnvironment(former.past.identity, environment, { store: file, other });
  const backup = pastOfBackup(source);
  const reason = whyUnknown(backup, former.past);
  if (reason !== undefined && idsAbove === undefined) throw new IdsUnknown(reason, backup.lastId);
  const known = reason === undefined ? former.past : undefined;
  const lastId = lastIdFrom((known ?? backup).lastId, idsAbove);
  using partial = temporaryFile(realFile);
  const { verification, changed } = await copyStore(source, partial.name, {
    onProgress,
    change(copy) {
      const identity = migrate(copy, backupFile);
      using transaction = beginTransaction(copy);
      setLastId(copy, lastId);
      if (isSameStore(backup, former.past)) endKeys(copy, former.past.keys);
      transaction.commit();
      return identity;
    },
  });
  const problems = verification.problems.join('; ');
  if (problems) throw new StoreFault(`${backupFile} cannot be restored: ${problems}.`);
  const setAside = replace(realFile, partial.name);
  keepStoreId(file, changed);
  return { verification, setAside, isPastKnown: reason === undefined };
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

/** The id above which new ids begin: not below the last one that is known, so that none is assigned again. */
function lastIdFrom(lowest: bigint, lastId = lowest): bigint {
  if (lastId >= lowest && lastId <= LAST_ID_MAX) return lastId;
  throw new StoreUnusable(
    `new ids cannot begin above ${lastId}: name an id from ${lowest} to ${LAST_ID_MAX}.`,
  );
}

/** Why the former file does not show which ids were assigned after the backup, or undefined if it does. */
function whyUnknown(backup: Past, former: Past | undefined): string | undefined {
  if (former === undefined) return 'there is no intact former file';
  if (!isSameStore(backup, former)) return 'the former file is of another store';
  return former.lastId <= backup.lastId
    ? 'the former file is not newer than the backup, and may be a copy of it'
    : undefined;
}

function isSameStore(backup: Past, former: Past | undefined): former is Past {
  return former?.identity.id === backup.identity.id;
}

const earlier = (column: string) =>
  `${column} = coalesce(min(${column}, excluded.${column}), ${column}, excluded.${column})`;

/** Adds the keys of the former file. One that is in both is revoked if either says so, and ends at the earlier end. */
function endKeys(copy: DatabaseSync, keys: readonly ApiKey[]): void {
  const values = API_KEY_COLUMNS.replaceAll(/\w+/g, '?');
  const write = copy.prepare(
    `INSERT INTO api_keys (${API_KEY_COLUMNS}) VALUES (${values})
     ON CONFLICT (hash) DO UPDATE SET ${earlier('expires_at')}, ${earlier('revoked_at')}`,
  );
  for (const key of keys) write.run(...rowOfApiKey(key));
}

function pastOfBackup({ file, database }: OpenStore): Past {
  try {
    return readPast(database, file);
  } catch (error) {
    throw fileError(file, error);
  }
}

function readPast(database: DatabaseSync, file: string): Past {
  const identity = readStoreIdentity(database, file);
  const [row] = rowsOf<[bigint]>(database, `SELECT ${LAST_ID}`);
  const select = `SELECT ${API_KEY_COLUMNS} FROM api_keys`;
  const keys = rowsOf<ApiKeyRow>(database, select).map(apiKeyOfRow);
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
    const isSound = hasCatalogue(database) && verifyContent(database).problems.length === 0;
    const past = isSound ? readPast(database, file) : undefined;
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

/** At no moment is there no file at the path, also after a loss of power: the former one has two names for a while. */
function replace(file: string, restored: string): string | undefined {
  syncFile(restored);
  const isThere = existsSync(file);
  const setAside = freeName(`${file}.before-restore`);
  if (isThere) giveSecondName(file, setAside);
  for (const suffix of LOG_SUFFIXES) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${setAside}${suffix}`);
  }
  // No loss of power may leave the former log beside the new file: SQLite would apply it.
  syncName(file);
  renameSync(restored, file);
  syncName(file);
  return isThere ? setAside : undefined;
}

/** On a file system without links there is no file for a moment. A start then ends, because the id of the store is there. */
function giveSecondName(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch {
    renameSync(file, name);
  }
}
