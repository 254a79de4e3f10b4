// Opens the file of a store: which file it is, who may read it, and whether it is the right store.

import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../domain/errors.ts';
import { StoreFault, StoreUnusable } from '../../domain/store.ts';
import type { Access, StoreIdentity } from '../../domain/store-identity.ts';
import { noStore } from '../migrations.ts';
import { hasCatalogue, openConnection } from './connection.ts';
import { requireSound } from './damage.ts';
import { isCorrupt, isOutOfInodes, isTemporary, namedCause } from './errors.ts';
import { findIdentity, type FileIdentity } from './file-identity.ts';
import { migrate } from './migrate.ts';
import { createFolder, syncFile, syncName } from './sync.ts';

const OTHERS_BITS = 0o077;

export interface OpenOptions extends Access {
  onWarning?: (message: string) => void;
  /** Whether a write waits for a disk that is slow. A request cannot; a command of a person can. */
  waitsForDisk?: boolean;
}

/** Opens a store with its schema up to date, as far as the options allow to create or change it. */
export function openStoreFile(
  file: string,
  options: OpenOptions = {},
): { database: DatabaseSync; identity: FileIdentity } {
  const mayCreate = options.identity !== undefined;
  let database: DatabaseSync | undefined;
  try {
    // Before the catalogue is read: another process may be creating the store, first the catalogue and then the id.
    const expected = readStoreId(file);
    const isNew = !hasStore(file);
    if (isNew && expected !== undefined) throw lost(file, expected, 'is missing');
    if (isNew && !mayCreate) throw noStore(file);
    if (isNew) createFile(file);
    requireSound(file);
    database = openConnection(file);
    restrictToOwner(file);
    if (expected !== undefined && !hasCatalogue(database))
      throw lost(file, expected, 'has no catalogue');
    const store = migrate(database, file, options);
    if (expected !== undefined && store.id !== expected) {
      throw lost(file, expected, `is store ${store.id}`);
    }
    if (mayCreate && expected === undefined) keepStoreId(file, store, options.onWarning);
    const identity = findIdentity(file);
    if (identity === undefined) throw lost(file, store.id, 'is missing');
    return { database, identity };
  } catch (error) {
    database?.close();
    throw openingError(error, file);
  }
}

function lost(file: string, id: string, now: string): StoreFault {
  return new StoreFault(
    `store ${id} was here, and ${file} ${now}: put the right file in place with its log, restore a backup, or remove ${idFileOf(file)} to go on without it.`,
  );
}

function openingError(error: unknown, file: string): unknown {
  if (error instanceof StoreUnusable) return error;
  const failed = `the store ${file} cannot be opened`;
  if (isTemporary(error) || isOutOfInodes(error, file)) {
    return new Refusal('unavailable', `${failed}.`, { cause: namedCause(error, file) });
  }
  if (isCorrupt(error)) {
    const { message } = error as Error;
    return new StoreFault(`${failed} (${message}): restore a backup, or name another data folder.`);
  }
  return unusableStore(failed, error);
}

export function unusableStore(
  failed: string,
  cause: unknown,
  remedy = "name a data folder that this user can write to, with no other program's files in it",
): StoreUnusable {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreUnusable(`${failed} (${reason}): ${remedy}.`, { cause });
}

/**
 * Whether there is a store. A file of 0 bytes is not a store: a first start that was interrupted leaves it. A folder
 * that this user may not enter hides whether it has one.
 */
export function hasStore(file: string): boolean {
  try {
    return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
  } catch (error) {
    throw unusableStore(`the store ${file} cannot be opened`, error);
  }
}

/** Creates an empty file that only its owner can read, and the folders above it. */
function createFile(file: string): void {
  createFolder(dirname(file));
  // The second condition comes last: another process may be creating the store, first the file and then the log.
  if (existsSync(`${file}-wal`) && !existsSync(file)) {
    throw new StoreFault(
      `${file}-wal is the log of a store that is not there: move ${file} back beside it, or move the log away to begin an empty store.`,
    );
  }
  // SQLite gives the log and the shared memory the mode of the database.
  closeSync(openSync(file, 'a', 0o600));
  // Otherwise a loss of power could leave the log without its database.
  syncName(file);
}

/** The store holds the hashes of keys: no other user may read it, whatever the mode of its folder. */
function restrictToOwner(file: string): void {
  for (const name of ['', '-wal', '-shm'].map((suffix) => realpathSync(file) + suffix)) {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & OTHERS_BITS) !== 0) chmodSync(name, 0o600);
  }
}

/** The file beside a store that has its id, and stays when the store is lost. */
const idFileOf = (file: string) => `${file.replace(/\.sqlite$/, '')}.store-id`;

/** Undefined also for an empty file: a loss of power may leave a name without its content. */
function readStoreId(file: string): string | undefined {
  const idFile = idFileOf(file);
  const isFile = statSync(idFile, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile ? readFileSync(idFile, 'utf8').trim() || undefined : undefined;
}

/**
 * Writes the id beside a store, in place of a former one. To be called when the store is durable, with the path that the
 * settings name: it may be a symbolic link to a disk that is missing later.
 */
export function keepStoreId(
  file: string,
  identity: StoreIdentity,
  onWarning: (message: string) => void = () => undefined,
): void {
  const idFile = idFileOf(file);
  try {
    if (readStoreId(file) === identity.id) return;
    rmSync(idFile, { force: true });
    writeFileSync(idFile, `${identity.id}\n`, { mode: 0o644, flag: 'ax' });
    syncFile(idFile);
    syncName(idFile);
  } catch (error) {
    onWarning(`the id of the store cannot be written beside it (${String(error)})`);
  }
}
