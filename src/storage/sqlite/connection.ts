import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../domain/errors.ts';
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
    makeFolder(resolve(dirname(file)));
    const database = openConnection(file);
    try {
      migrate(database, file);
    } finally {
      database.close();
    }
  } catch (error) {
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
    // SQLite has already rolled back by itself after some faults, a full disk among them.
    if (database.isTransaction) database.exec('ROLLBACK');
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
