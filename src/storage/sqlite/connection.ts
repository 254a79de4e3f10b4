import { accessSync, constants } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StoreUnusable } from '../../domain/store.ts';
import { pragma, rowsOf } from './query.ts';

/** Shorter than the deadline of a write, so that a write that waits for a lock is refused with that cause. */
export const BUSY_TIMEOUT_MS = 2_000;
/** A log that grew beyond this, during an import or a long read, is truncated when it is next reused. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/** Opens one connection to a store. Its rows are arrays, and its integers are exact. */
export function openConnection(file: string): DatabaseSync {
  // SQLite would open a read-only file for reading, and not write to it even after its mode was corrected.
  accessSync(file, constants.W_OK);
  const database = openAsIs(file);
  try {
    // First: the settings below would change another program's file.
    refuseForeign(database, file);
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
  const database = new DatabaseSync(url, {
    // Another process may be writing: wait for it rather than fail.
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    readBigInts: true,
    returnArrays: true,
    // No statement of the store needs to change the schema table or the internal tables directly.
    defensive: true,
  });
  // What a trigger or a view in the file may call must be harmless: the file may be a backup from elsewhere.
  database.exec('PRAGMA trusted_schema = OFF');
  return database;
}

/** "PETS": tells a store's file from the databases of other programs. */
export const APPLICATION_ID = 0x50455453n;

/** Whether a database has a catalogue. SQLite opens an empty file as an empty database, which has none. */
export function hasCatalogue(database: DatabaseSync): boolean {
  return pragma(database, 'application_id') === APPLICATION_ID;
}

/** Refuses a database that another program has created; an empty one is accepted. Nothing in it is changed. */
export function refuseForeign(database: DatabaseSync, file: string): void {
  if (hasCatalogue(database)) return;
  const isEmpty =
    rowsOf(database, 'SELECT 1 FROM sqlite_schema LIMIT 1').length === 0 &&
    ['application_id', 'user_version'].every((name) => pragma(database, name) === 0n);
  if (isEmpty) return;
  throw new StoreUnusable(
    `${file} belongs to another program: name a data folder of the pet store's own.`,
  );
}
