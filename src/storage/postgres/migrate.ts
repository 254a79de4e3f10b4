import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import {
  requireEnvironment,
  type Access,
  type StoreIdentity,
} from '../../domain/store-identity.ts';
import { pendingMigrations, readMigrations, type Migration } from '../migrations.ts';
import { identityOfRow, insertIdentity, SELECT_IDENTITY, type IdentityRow } from '../rows.ts';
import {
  ask,
  check,
  inTransaction,
  NO_TRANSACTION_TIMEOUTS,
  type Connection,
} from './connection.ts';
import { isWrongSetting, LOCK_NOT_AVAILABLE, stateOf } from './errors.ts';

const MIGRATIONS = new URL('./migrations/', import.meta.url);
/** A migration may have to rewrite a large table. No request is served meanwhile. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
/**
 * While a migration waits for the lock of a table, the statements of every other program wait behind it. It
 * stops waiting before they time out, and the service starts again.
 */
const LOCK_TIMEOUT_MS = 1_000;

/**
 * Brings the schema up to date, and returns the identity of the store. Of several processes that start at once, one does it
 * and the others wait. Throws a Refusal if another session is in the way, such as one that creates the same tables: it will
 * succeed later.
 */
export async function migrate(
  connection: Connection,
  shown: string,
  access: Access = {},
  migrations = readMigrations(MIGRATIONS),
): Promise<StoreIdentity> {
  const run: Run = (text) => ask(connection, text, MIGRATION_TIMEOUT_MS);
  try {
    const version = await readVersion(connection, shown);
    if (pendingMigrations(migrations, version, shown, access).length > 0) {
      await inTransaction(connection, run, async () => {
        await run(NO_TRANSACTION_TIMEOUTS);
        await applyPending(run, { shown, access, migrations });
      });
    }
    return await requireRightStore((text) => check(connection, text), shown, access);
  } catch (error) {
    throw error instanceof StoreUnusable ? error : refused(error, shown);
  }
}

const CREATE_SCHEMA_TABLE = `
  CREATE TABLE IF NOT EXISTS petstore_schema (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  integer NOT NULL)`;

/** What makes the tables of a new store. */
export function newStoreStatements(): string[] {
  const migrations = readMigrations(MIGRATIONS);
  const version = `INSERT INTO petstore_schema (version) VALUES (${migrations.at(-1)?.version})`;
  return [CREATE_SCHEMA_TABLE, version, ...migrations.map(({ sql }) => sql)];
}

/** Makes the tables that a copy fills, in its transaction, or finds those of an empty store. */
export async function createTables(connection: Connection, shown: string): Promise<void> {
  try {
    const version = await readVersion(connection, shown);
    if (version > 0) {
      pendingMigrations(readMigrations(MIGRATIONS), version, shown, { mayMigrate: false });
      return;
    }
    for (const text of newStoreStatements()) await ask(connection, text, MIGRATION_TIMEOUT_MS);
  } catch (error) {
    throw error instanceof StoreUnusable ? error : refused(error, shown);
  }
}

type Run = (text: string) => Promise<readonly (readonly unknown[])[]>;

interface Opened {
  shown: string;
  access: Access;
  migrations: Migration[];
}

async function requireRightStore(run: Run, shown: string, { environment }: Access) {
  const [row] = await run(SELECT_IDENTITY);
  const found = identityOfRow(row as IdentityRow | undefined, shown);
  const correct = `correct a wrong one with UPDATE store_identity SET environment = '${environment}'`;
  const other = `name another database in the URL, or ${correct}`;
  requireEnvironment(found, environment, { store: shown, other });
  return found;
}

/** Refuses a database without a store, and one with a schema that this program does not know. */
export async function requireStore(connection: Connection, shown: string): Promise<void> {
  pendingMigrations(readMigrations(MIGRATIONS), await readVersion(connection, shown), shown);
}

/** The version of the schema. 0 is a database without a store. */
async function readVersion(connection: Connection, shown: string): Promise<number> {
  const [row] = await check(
    connection,
    `SELECT current_setting('server_encoding'),
            to_regclass('petstore_schema') IS NOT NULL,
            to_regclass('pets') IS NOT NULL`,
  );
  const [encoding, isOurs, hasPets] = row ?? [];
  if (encoding !== 'UTF8') {
    throw new StoreUnusable(
      `${shown} has the encoding ${String(encoding)}, which cannot hold every name: create the database with ENCODING 'UTF8'.`,
    );
  }
  if (isOurs === true) {
    const [found] = await check(connection, 'SELECT version FROM petstore_schema');
    return Number(found?.[0] ?? 0);
  }
  if (hasPets !== true) return 0;
  throw new StoreUnusable(
    `${shown} has a table "pets" of another program: the database URL must name a database of the pet store's own.`,
  );
}

async function applyPending(run: Run, { shown, access, migrations }: Opened): Promise<void> {
  // Other processes wait at one of these statements. Those that wait to create the table are refused then, and
  // those that wait for its row find the migration done.
  await run(CREATE_SCHEMA_TABLE);
  await run('INSERT INTO petstore_schema (version) VALUES (0) ON CONFLICT DO NOTHING');
  await run(`SET LOCAL statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
  const [row] = await run('SELECT version FROM petstore_schema FOR UPDATE');
  const version = Number(row?.[0] ?? 0);
  await run(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  for (const { sql } of pendingMigrations(migrations, version, shown, access)) await run(sql);
  await run(`UPDATE petstore_schema SET version = ${migrations.at(-1)?.version}`);
  if (version === 0 && access.identity !== undefined) await run(insertIdentity(access.identity));
  await requireRightStore(run, shown, access);
}

function refused(error: unknown, shown: string): Error {
  const reason = error instanceof Error ? error.message : String(error);
  const failed = `${shown} cannot be set up (${reason})`;
  if (stateOf(error) === LOCK_NOT_AVAILABLE) {
    const remedy = 'end the session that uses its tables, such as a backup';
    return new Refusal('unavailable', `${failed}: ${remedy}.`, { cause: error });
  }
  if (!isWrongSetting(error)) return new Refusal('unavailable', `${failed}; try again shortly.`);
  const right = 'be allowed to create tables there, and must own those that exist';
  return new StoreUnusable(`${failed}: the user in the database URL must ${right}.`, {
    cause: error,
  });
}
