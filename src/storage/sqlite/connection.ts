import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import {
  FileReplaced,
  identityOf,
  isSameDatabase,
  setAsideOrphans,
  type FileIdentity,
} from './identity.ts';
import { foreign, HEADER_BYTES, isForeignHeader, migrate } from './schema.ts';

/** Shorter than the deadline of a write, so that a write which met a lock is refused with that cause. */
export const BUSY_TIMEOUT_MS = 3_000;
/** A log that grew beyond this, during an import or a long read, is cut when it is next reused. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;
const OWNER_ONLY = 0o600;
const OTHERS_BITS = 0o077;

/** Opens one connection to a store. Its rows are arrays, and its integers are exact. */
export function openConnection(file: string): DatabaseSync {
  const database = openAsIs(file);
  try {
    // Readers never wait for the writer, nor it for them.
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
  // SQLite must not create the file: where it is gone, a new one would be empty.
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'rw');
  return new DatabaseSync(url, {
    // Another process may be writing: wait for it rather than fail.
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    readBigInts: true,
    returnArrays: true,
    // No statement of ours needs to touch the schema or the file's inner tables.
    defensive: true,
  });
}

/**
 * Opens a store with its schema up to date; creates it where there is none and it may. Another program's
 * file is refused before anything in it was changed.
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
    keepFromOthers(file);
    const before = identityOf(file);
    database = open(file);
    migrate(database, file);
    const identity = identityOf(file);
    if (!before || !identity || !isSameDatabase(before, identity)) {
      throw new FileReplaced('it was replaced while it was being opened');
    }
    return { database, identity };
  } catch (error) {
    database?.close();
    if (error instanceof StoreUnusable) throw error;
    const failed = `the store ${file} cannot be ${isNew ? 'created' : 'opened'}`;
    if (isPassing(error)) throw new Refusal('unavailable', `${failed}.`, { cause: error });
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnusable(
      `${failed} (${reason}): --data must name a folder that this user can write to, with no other program's files in it.`,
      { cause: error },
    );
  }
}

function createFile(file: string): void {
  makeFolder(resolve(dirname(file)));
  setAsideOrphans(file);
  // SQLite gives the log and the shared memory the mode of the database.
  closeSync(openSync(file, 'a', OWNER_ONLY));
}

/** One by one: mkdir with `recursive` never returns below /proc, where a folder has a parent and cannot be made. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

/** SQLite's own numbers of what another setting would not change: busy, locked, I/O error, full. */
const PASSING_FAULTS = [5, 6, 10, 13];

function isPassing(error: unknown): boolean {
  const { errcode, code } = error as { errcode?: number; code?: string };
  return code === 'ENOSPC' || PASSING_FAULTS.includes((errcode ?? 0) & 0xff);
}

/** Reads the header alone, without a lock or a log: another program's file must stay as it is. */
export function refuseForeign(file: string): void {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, header);
  } finally {
    closeSync(descriptor);
  }
  if (isForeignHeader(header)) throw foreign(file);
}

/** The store holds the hashes of keys: nobody else may read it, whatever the mode of its folder. */
function keepFromOthers(file: string): void {
  const realFile = realpathSync(file);
  for (const name of [realFile, `${realFile}-wal`, `${realFile}-shm`]) {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & OTHERS_BITS) === 0) continue;
    try {
      chmodSync(name, mode & 0o700);
    } catch (error) {
      // The file of another user, who shares it with this one on purpose.
      if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    }
  }
}
