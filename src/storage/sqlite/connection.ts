import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import { pendingMigrations, readMigrations } from '../migrate.ts';

/** Every call is settled within 5 seconds, and this is the longest wait it can meet. */
const BUSY_TIMEOUT_MS = 4_000;
/** "PETS": tells our files from those of other programs. */
const APPLICATION_ID = 0x50455453n;

/** Opens one connection. Its rows are arrays, and its integers are exact. */
export function openConnection(file: string): DatabaseSync {
  const database = new DatabaseSync(file, {
    // Another process may be writing: wait for it rather than fail.
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    readBigInts: true,
    returnArrays: true,
    // No statement of ours needs to touch the schema or the file's inner tables.
    defensive: true,
  });
  // Readers never wait for the writer, nor it for them.
  database.exec('PRAGMA journal_mode = WAL');
  // Every commit is on the disk before it is acknowledged; NORMAL would lose some at a power failure.
  database.exec('PRAGMA synchronous = FULL');
  return database;
}

/** Creates the file where there is none, and brings its schema up to date. */
export function prepareFile(file: string): void {
  const isNew = !existsSync(file);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const database = openConnection(file);
    try {
      migrate(database, file);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof StoreUnusable) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnusable(
      `the store ${file} cannot be ${isNew ? 'created' : 'opened'} (${reason}): --data must name a folder that this user can write to, with no other program's files in it.`,
      { cause: error },
    );
  }
}

/** The source that the marker of an unfinished copy names, or undefined where there is no marker. */
export function unfinishedCopyOf(database: DatabaseSync): string | undefined {
  const isMarked = database
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'unfinished_copy'")
    .get();
  if (isMarked === undefined) return undefined;
  const row = database.prepare('SELECT source FROM unfinished_copy').get() as unknown as unknown[];
  return String(row[0]);
}

function migrate(database: DatabaseSync, file: string): void {
  const migrations = readMigrations(new URL('./migrations/', import.meta.url));
  // A file that is up to date is opened without a lock, also while somebody is writing to it.
  const isCurrent =
    pragma(database, 'application_id') === APPLICATION_ID &&
    Number(pragma(database, 'user_version')) === migrations.length;
  if (isCurrent) return;
  // IMMEDIATE: of several processes that start at once one migrates, and the others then find it done.
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = Number(pragma(database, 'user_version'));
    const owner = pragma(database, 'application_id');
    const isOurs = owner === APPLICATION_ID || (version === 0 && isEmpty(database));
    if (!isOurs) {
      throw new StoreUnusable(
        `${file} belongs to another program: --data must name a folder of the pet store's own.`,
      );
    }
    for (const migration of pendingMigrations(migrations, version, file)) {
      database.exec(migration.sql);
      database.exec(`PRAGMA user_version = ${migration.version}`);
    }
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function pragma(database: DatabaseSync, name: string): unknown {
  const row = database.prepare(`PRAGMA ${name}`).get() as unknown as unknown[];
  return row[0];
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}
