import type { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import { pendingMigrations, readMigrations } from '../migrate.ts';

/** "PETS": tells our files from those of other programs. */
const APPLICATION_ID = 0x50455453n;

/** The header of a database file, as its format lays it down, and where in it these 32-bit numbers stand. */
export const HEADER_BYTES = 100;
const HEADER = { schemaChanges: 40, userVersion: 60, applicationId: 68 };

/** Whether the header says that another program has made this database; an empty one is nobody's. */
export function isForeignHeader(header: Buffer): boolean {
  const read = (position: number) => BigInt(header.readUInt32BE(position));
  if (read(HEADER.applicationId) === APPLICATION_ID) return false;
  // What is not a database at all is left for SQLite to say.
  if (!header.toString('latin1').startsWith('SQLite format 3')) return false;
  return Object.values(HEADER).some((position) => read(position) !== 0n);
}

export function foreign(file: string): StoreUnusable {
  return new StoreUnusable(
    `${file} belongs to another program: --data must name a folder of the pet store's own.`,
  );
}

/** The same of an open database, whose newest header may still be in its log. */
function isForeign(database: DatabaseSync): boolean {
  if (pragma(database, 'application_id') === APPLICATION_ID) return false;
  return pragma(database, 'user_version') !== 0n || !isEmpty(database);
}

/** Brings the schema up to date. */
export function migrate(database: DatabaseSync, file: string): void {
  const migrations = readMigrations(new URL('./migrations/', import.meta.url));
  // A file that is up to date is opened without a lock, also while somebody is writing to it.
  const isCurrent =
    pragma(database, 'application_id') === APPLICATION_ID &&
    Number(pragma(database, 'user_version')) === migrations.length;
  if (isCurrent) return;
  // IMMEDIATE: of several processes that start at once one migrates, and the others then find it done.
  database.exec('BEGIN IMMEDIATE');
  try {
    if (isForeign(database)) throw foreign(file);
    const version = Number(pragma(database, 'user_version'));
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

/** The source that the marker of an unfinished copy names, or undefined where there is no marker. */
export function unfinishedCopyOf(database: DatabaseSync): string | undefined {
  const isMarked = database
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'unfinished_copy'")
    .get();
  if (isMarked === undefined) return undefined;
  const row = database.prepare('SELECT source FROM unfinished_copy').get() as unknown as unknown[];
  return String(row[0]);
}

function pragma(database: DatabaseSync, name: string): unknown {
  const row = database.prepare(`PRAGMA ${name}`).get() as unknown as unknown[];
  return row[0];
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}
