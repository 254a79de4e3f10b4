import type { DatabaseSync } from 'node:sqlite';
import type { Access, StoreIdentity } from '../../domain/store-identity.ts';
import { requireEnvironment } from '../../domain/store-identity.ts';
import { identityOfRow, insertIdentity, SELECT_IDENTITY, type IdentityRow } from '../rows.ts';
import {
  pendingMigrations,
  readMigrations,
  REMEMBER_PROGRAM,
  unfinishedCopy,
  type StoreSchema,
} from '../migrations.ts';
import { APPLICATION_ID } from './connection.ts';
import { hasTable, pragma, rowsOf } from './query.ts';
import { beginTransaction } from './statements.ts';

/** Brings the schema up to date, gives a store without identity the given one, and returns it. Of several processes that start at once, one migrates. */
export function migrate(
  database: DatabaseSync,
  file: string,
  access: Access = {},
): StoreIdentity | undefined {
  refuseUnfinishedCopy(database, file);
  const migrations = readMigrations(new URL('./migrations/', import.meta.url));
  const findPending = () => pendingMigrations(migrations, readSchema(database), file, access);
  // A file that is up to date is opened without a lock, even while another process writes to it.
  const isComplete = access.identity === undefined || findStoreIdentity(database) !== undefined;
  if (findPending().length === 0 && isComplete) return requireRightStore(database, file, access);
  using transaction = beginTransaction(database);
  const pending = findPending();
  for (const migration of pending) {
    database.exec(migration.sql);
    database.exec(`PRAGMA user_version = ${migration.version}`);
  }
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  if (access.identity !== undefined) database.exec(insertIdentity(access.identity));
  if (pending.length > 0) database.exec(REMEMBER_PROGRAM);
  const identity = requireRightStore(database, file, access);
  transaction.commit();
  return identity;
}

/** The identity of a store of any version; undefined if no service has given it one yet. */
export function findStoreIdentity(database: DatabaseSync): StoreIdentity | undefined {
  if (!hasTable(database, 'store_identity')) return undefined;
  const [row] = rowsOf<IdentityRow>(database, SELECT_IDENTITY);
  return row && identityOfRow(row);
}

function readSchema(database: DatabaseSync): StoreSchema {
  const version = Number(pragma(database, 'user_version'));
  const columns = rowsOf<[string]>(
    database,
    "SELECT name FROM pragma_table_info('store_identity')",
  );
  if (!columns.some(([name]) => name === 'migrated_by')) return { version };
  const [row] = rowsOf<[string | null]>(database, 'SELECT migrated_by FROM store_identity');
  return { version, migratedBy: row?.[0] ?? undefined };
}

function requireRightStore(database: DatabaseSync, file: string, { environment }: Access) {
  const found = findStoreIdentity(database);
  requireEnvironment(found, environment, { store: file, other: 'name another data folder' });
  return found;
}

export function refuseUnfinishedCopy(database: DatabaseSync, file: string): void {
  if (!hasTable(database, 'unfinished_copy')) return;
  const [row] = rowsOf<[string]>(database, 'SELECT source FROM unfinished_copy');
  throw unfinishedCopy(file, row?.[0]);
}
