import type { DatabaseSync } from 'node:sqlite';
import { pendingMigrations, readMigrations, unfinishedCopy } from '../migrations.ts';
import { APPLICATION_ID, foreign, isForeign, pragma } from './file-kind.ts';
import { beginTransaction } from './statements.ts';

/** Brings the schema up to date. Of several processes that start at once, one migrates. */
export function migrate(database: DatabaseSync, file: string): void {
  refuseUnfinishedCopy(database, file);
  const migrations = readMigrations(new URL('./migrations/', import.meta.url));
  // A file that is up to date is opened without a lock, even while another process writes to it.
  const isCurrent =
    pragma(database, 'application_id') === APPLICATION_ID &&
    Number(pragma(database, 'user_version')) === migrations.length;
  if (isCurrent) return;
  using transaction = beginTransaction(database);
  if (isForeign(database)) throw foreign(file);
  const version = Number(pragma(database, 'user_version'));
  for (const migration of pendingMigrations(migrations, version, file)) {
    database.exec(migration.sql);
    database.exec(`PRAGMA user_version = ${migration.version}`);
  }
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  transaction.commit();
}

export function refuseUnfinishedCopy(database: DatabaseSync, file: string): void {
  const isMarked = database
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'unfinished_copy'")
    .get();
  if (isMarked === undefined) return;
  const row = database.prepare('SELECT source FROM unfinished_copy').get() as unknown as unknown[];
  throw unfinishedCopy(file, row[0]);
}
