import type { DatabaseSync } from 'node:sqlite';
import type { Access, StoreIdentity } from '../../domain/store-identity.ts';
import { requireEnvironment } from '../../domain/store-identity.ts';
import { pendingMigrations, readMigrations, type Migration } from '../migrations.ts';
import { identityOfRow, insertIdentity, SELECT_IDENTITY, type IdentityRow } from '../rows.ts';
import { APPLICATION_ID } from './connection.ts';
import { pragma, rowsOf } from './query.ts';
import { beginTransaction } from './statements.ts';

const MIGRATIONS = new URL('./migrations/', import.meta.url);

/** Brings the schema up to date, and returns the identity of the store. Of several processes that start at once, one migrates. */
export function migrate(
  database: DatabaseSync,
  file: string,
  access: Access = {},
  migrations = readMigrations(MIGRATIONS),
): StoreIdentity {
  const findPending = () => pendingMigrations(migrations, versionOf(database), file, access);
  // A file that is up to date is opened without a lock, even while another process writes to it.
  if (findPending().length === 0) return requireRightStore(database, file, access);
  using transaction = beginTransaction(database);
  const isNew = versionOf(database) === 0;
  createTables(database, findPending());
  if (isNew && access.identity !== undefined) database.exec(insertIdentity(access.identity));
  const found = requireRightStore(database, file, access);
  transaction.commit();
  return found;
}

/** By default it makes the tables of a store that is to be filled. */
export function createTables(
  database: DatabaseSync,
  migrations = readMigrations(MIGRATIONS),
): void {
  for (const { sql, version } of migrations) {
    database.exec(sql);
    database.exec(`PRAGMA user_version = ${version}`);
  }
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
}

/** The steps that have made a store as it is, which an earlier program may have written. */
export function migrationsOf(database: DatabaseSync): Migration[] {
  return readMigrations(MIGRATIONS).filter(({ version }) => version <= versionOf(database));
}

/** Refuses a store with a schema that this program does not know. */
export function requireKnownSchema(database: DatabaseSync, file: string): void {
  pendingMigrations(readMigrations(MIGRATIONS), versionOf(database), file);
}

const versionOf = (database: DatabaseSync) => Number(pragma(database, 'user_version'));

function requireRightStore(database: DatabaseSync, file: string, { environment }: Access) {
  const found = readStoreIdentity(database, file);
  requireEnvironment(found, environment, { store: file, other: 'name another data folder' });
  return found;
}

/** Refuses a store without an identity: nobody knows of which environment its animals and keys are. */
export function readStoreIdentity(database: DatabaseSync, file: string): StoreIdentity {
  const [row] = rowsOf<IdentityRow>(database, SELECT_IDENTITY);
  return identityOfRow(row, file);
}
