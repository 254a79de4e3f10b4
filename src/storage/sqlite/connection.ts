import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { FileReplaced, isTemporary } from './errors.ts';
import { refuseForeign } from './file-kind.ts';
import { migrate } from './migrate.ts';
import { syncName } from './sync.ts';

/** Shorter than the deadline of a write, so that a write that meets a lock is refused with that cause. */
export const BUSY_TIMEOUT_MS = 2_000;
/** A log that grew beyond this, during an import or a long read, is truncated when it is next reused. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;
/** How long a process waits for another process that is renaming files. */
const LOCK_TIMEOUT_MS = 1_000;
const OWNER_ONLY = 0o600;
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
 * Opens a store with its schema up to date, and creates it if it does not exist and `mayCreate` is set.
 * Another program's file is refused before anything in it was changed.
 */
export function openStoreFile(
  file: string,
  { mayCreate, open = openConnection }: { mayCreate: boolean; open?: typeof openAsIs },
): { database: DatabaseSync; identity: FileIdentity } {
  const isNew = mayCreate && !existsSync(file);
  let database: DatabaseSync | undefined;
  try {
    if (isNew) createFile(file);
    refuseForeign(file);
    restrictToOwner(file);
    const before = findIdentity(file);
    database = open(file);
    migrate(database, file);
    const identity = findIdentity(file);
    if (!before || !identity || !isSameDatabase(before, identity)) {
      throw new FileReplaced('it was replaced while it was being opened');
    }
    return { database, identity };
  } catch (error) {
    database?.close();
    if (error instanceof StoreUnusable) throw error;
    const failed = `the store ${file} cannot be ${isNew ? 'created' : 'opened'}`;
    if (isTemporary(error)) throw new Refusal('unavailable', `${failed}.`, { cause: error });
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnusable(
      `${failed} (${reason}): --data must name a folder that this user can write to, with no other program's files in it.`,
      { cause: error },
    );
  }
}

interface FileId {
  dev: bigint;
  ino: bigint;
  birthtimeNs: bigint;
}

/** Which files a connection has open: the database, its log and its shared memory. */
export interface FileIdentity {
  /** The path that the settings name. */
  file: string;
  /** The same path without symbolic links. SQLite keeps the log beside this one. */
  realFile: string;
  database: FileId;
  log: FileId | undefined;
  sharedMemory: FileId | undefined;
}

/** The files at the path now, or undefined if there is no database. */
export function findIdentity(file: string): FileIdentity | undefined {
  const database = idOf(file);
  if (database === undefined) return undefined;
  const realFile = realpathSync(file);
  const [log, sharedMemory] = [idOf(`${realFile}-wal`), idOf(`${realFile}-shm`)];
  return { file, realFile, database, log, sharedMemory };
}

/** Throws unless the path still leads to the database that is open. */
export function requireDatabaseInPlace({ file, database }: FileIdentity): void {
  requireSame(file, database);
}

/** Throws unless the path still leads to the files that are open, so that the next start finds them too. */
export function requireInPlace({ file, realFile, ...opened }: FileIdentity): void {
  requireSame(file, opened.database);
  requireSame(`${realFile}-wal`, opened.log);
  requireSame(`${realFile}-shm`, opened.sharedMemory);
}

function requireSame(name: string, id: FileId | undefined): void {
  const now = idOf(name);
  // On a file system without shared memory, SQLite works without a log.
  const isUnchanged = id === undefined ? now === undefined : isSame(now, id);
  if (!isUnchanged) throw new FileReplaced(`${name} was deleted or replaced`);
}

/** Whether both are the same database, even if one of them was closed meanwhile. */
export function isSameDatabase(one: FileIdentity, other: FileIdentity): boolean {
  return isBornSame(one.database, other.database);
}

/** Creates an empty file that only its owner can read, and the folders above it. */
export function createFile(file: string): void {
  createFolder(resolve(dirname(file)));
  // SQLite would apply the log of a deleted database to the new one.
  setAside(file, () =>
    existsSync(file) ? [] : [`${file}-wal`, `${file}-shm`].filter((name) => existsSync(name)),
  );
  // SQLite gives the log and the shared memory the mode of the database.
  closeSync(openSync(file, 'a', OWNER_ONLY));
}

/** One folder at a time: mkdir with `recursive` does not return for a path below /proc. */
function createFolder(folder: string): void {
  if (!existsSync(folder)) {
    createFolder(dirname(folder));
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process may have created it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
  // SQLite syncs no folder above that of its files. Whoever created this one may have been killed before that.
  syncName(folder);
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

/**
 * Renames the log and the shared memory that `old` has left beside another database: SQLite would apply
 * that log to it. Returns the new names.
 */
export function setAsideLeftovers(old: FileIdentity): string[] {
  return setAside(old.realFile, () => {
    const now = findIdentity(old.file);
    if (now === undefined || now.realFile !== old.realFile) return [];
    const isOtherDatabase = !isSameDatabase(now, old);
    const isSameLog = isBornSame(now.log, old.log);
    const names: string[] = [];
    if (isOtherDatabase && isSameLog) names.push(`${old.realFile}-wal`);
    if ((isOtherDatabase || !isSameLog) && isBornSame(now.sharedMemory, old.sharedMemory)) {
      names.push(`${old.realFile}-shm`);
    }
    return names;
  });
}

/**
 * Renames the files that `find` returns. `find` is called again under a lock: of several processes one
 * renames, and none renames a log that another process has started since.
 */
function setAside(file: string, find: () => string[]): string[] {
  if (find().length === 0) return [];
  // SQLite's lock is released when its process ends, even by a crash.
  const lock = new DatabaseSync(`${file}-lock`, { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return find().map((name) => {
      const newName = freeName(`${name}.replaced`);
      renameSync(name, newName);
      return newName;
    });
  } finally {
    lock.close();
  }
}

/** The name with the first number that makes it a new one. */
export function freeName(name: string): string {
  for (let number = 1; ; number += 1) {
    const candidate = `${name}-${number}`;
    if (!existsSync(candidate)) return candidate;
  }
}

function idOf(name: string): FileId | undefined {
  return statSync(name, { bigint: true, throwIfNoEntry: false });
}

/** For open files: the inode number of an open file is not reused. */
function isSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** For closed files: their inode numbers may have been reused for new files. */
function isBornSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return isSame(one, other) && one?.birthtimeNs === other?.birthtimeNs;
}
