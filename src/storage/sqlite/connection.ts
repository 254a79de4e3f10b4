import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Refusal } from '../../domain/errors.ts';
import { StoreFault, StoreUnusable } from '../../domain/store.ts';
import type { Access } from '../../domain/store-identity.ts';
import { FileReplaced, isCorrupt, isTemporary, namedCause } from './errors.ts';
import { findIdentity, isSame, type FileIdentity } from './file-identity.ts';
import { refuseForeign } from './file-kind.ts';
import { migrate } from './migrate.ts';
import { noStore } from '../migrations.ts';
import { hasStore, refuseLost, requireStoreOf, unusableStore } from './store-identity.ts';
import { syncName } from './sync.ts';

/** Shorter than the deadline of a write, so that a write that waits for a lock is refused with that cause. */
export const BUSY_TIMEOUT_MS = 2_000;
/** A log that grew beyond this, during an import or a long read, is truncated when it is next reused. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;
export const OWNER_ONLY = 0o600;
const OTHERS_BITS = 0o077;

/** Opens one connection to a store. Its rows are arrays, and its integers are exact. */
export function openConnection(file: string): DatabaseSync {
  // SQLite would open a read-only file for reading, and not write to it even after its mode was corrected.
  accessSync(file, constants.W_OK);
  const database = openAsIs(file);
  try {
    // Readers never wait for the writer, and the writer never waits for readers.
    database.exec('PRAGMA journal_mode = WAL');
    // Every commit is on the disk before it is acknowledged; NORMAL would lose some at a power failure.
    database.exec('PRAGMA synchronous = FULL');
    database.exec(`PRAGMA journal_size_limit = ${LOG_BYTES_MAX}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a connection that changes neither the file nor its journal mode by itself. */
export function openAsIs(file: string): DatabaseSync {
  // SQLite must not create the file: in place of a deleted one, it would be empty.
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'rw');
  return new DatabaseSync(url, {
    // Another process may be writing: wait for it rather than fail.
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    readBigInts: true,
    returnArrays: true,
    // No statement of the store needs to change the schema table or the internal tables directly.
    defensive: true,
  });
}

/**
 * Opens a store with its schema up to date, as far as `access` allows to create or change it.
 * Another program's file is refused before anything in it was changed.
 */
export function openStoreFile(
  file: string,
  access: Access = {},
): { database: DatabaseSync; identity: FileIdentity } {
  refuseLost(file);
  if (access.mayCreate === false && !hasStore(file)) throw noStore(file);
  const isNew = !existsSync(file);
  let before: FileIdentity | undefined;
  let database: DatabaseSync | undefined;
  try {
    if (isNew) createFile(file);
    before = findIdentity(file);
    refuseForeign(file);
    restrictToOwner(file);
    database = openConnection(file);
    migrate(database, file, withKnownId(file, database, access));
    const identity = findIdentity(file);
    if (identity === undefined || !isSame(before?.database, identity.database)) {
      throw new FileReplaced('it was replaced meanwhile');
    }
    return { database, identity };
  } catch (error) {
    database?.close();
    throw openingError(error, { file, isNew, isReplaced: !isStillAt(file, before) });
  }
}

/** Whether the path still leads to this file. Without a former file, nothing was replaced. */
function isStillAt(file: string, before: FileIdentity | undefined): boolean {
  try {
    return before === undefined || isSame(before.database, findIdentity(file)?.database);
  } catch {
    return true;
  }
}

/** SQLite calls a file that `restore` has replaced meanwhile read-only, although the settings are right. */
function openingError(
  error: unknown,
  { file, isNew, isReplaced }: { file: string; isNew: boolean; isReplaced: boolean },
): unknown {
  if (error instanceof StoreUnusable) return error;
  const failed = `the store ${file} cannot be ${isNew ? 'created' : 'opened'}`;
  if (isReplaced || error instanceof FileReplaced) {
    return new StoreFault(`${failed} (it was replaced meanwhile): start the service again.`);
  }
  if (isTemporary(error)) {
    return new Refusal('unavailable', `${failed}.`, { cause: namedCause(error) });
  }
  if (isCorrupt(error)) {
    const { message } = error as Error;
    return new StoreFault(`${failed} (${message}): restore a backup, or name another --data.`);
  }
  return unusableStore(failed, error);
}

/** A store that has no identity yet gets the id beside it, if there is one. A command checks nothing of this. */
function withKnownId(file: string, database: DatabaseSync, access: Access): Access {
  const { mayCreate = true, identity } = access;
  const id = mayCreate ? requireStoreOf(file, database) : undefined;
  return id === undefined || identity === undefined
    ? access
    : { ...access, identity: { ...identity, id } };
}

/** Creates an empty file that only its owner can read, and the folders above it. With `ax` it must not exist. */
export function createFile(file: string, flags: 'a' | 'ax' = 'a'): void {
  createFolder(resolve(dirname(file)));
  // The second condition comes last: another process may be creating the store, first the file and then the log.
  if (existsSync(`${file}-wal`) && !existsSync(file)) {
    throw new StoreFault(
      `${file}-wal is the log of a store that is not there: move ${file} back beside it, or move the log away to begin an empty store.`,
    );
  }
  // SQLite gives the log and the shared memory the mode of the database.
  closeSync(openSync(file, flags, OWNER_ONLY));
  // Otherwise a loss of power could leave the log without its database.
  syncName(file);
}

/** One folder at a time: mkdir with `recursive` does not return for a path below /proc. */
function createFolder(folder: string): void {
  if (!existsSync(folder)) {
    createFolder(dirname(folder));
    try {
      mkdirSync(folder, { mode: 0o700 });
      giveOwnerOf(dirname(folder), folder);
    } catch (error) {
      // Another process may have created it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
  // SQLite syncs no folder above that of its files. Whoever created this one may have been killed before that.
  syncName(folder);
}

/** Gives a file or folder that root has created the owner of another one: the service may run as that user. */
export function giveOwnerOf(other: string, created: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(other);
  chownSync(created, uid, gid);
}

/** The store holds the hashes of keys: no other user may read it, whatever the mode of its folder. */
export function restrictToOwner(file: string): void {
  const realFile = realpathSync(file);
  for (const name of [realFile, `${realFile}-wal`, `${realFile}-shm`]) {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & OTHERS_BITS) === 0) continue;
    try {
      chmodSync(name, mode & 0o700);
    } catch (error) {
      // The file belongs to another user, who shares it on purpose.
      if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    }
  }
}
