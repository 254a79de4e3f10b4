import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { requireEnvironment, type Access } from '../../domain/store-identity.ts';
import {
  noStore,
  pendingMigrations,
  readMigrations,
  REMEMBER_PROGRAM,
  unfinishedCopy,
  type Migration,
  type StoreSchema,
} from '../migrations.ts';
import { identityOfRow, insertIdentity, SELECT_IDENTITY, type IdentityRow } from '../rows.ts';
import {
  ask,
  check,
  inTransaction,
  NO_TRANSACTION_TIMEOUTS,
  type Connection,
} from './connection.ts';
import { isWrongSetting, LOCK_NOT_AVAILABLE, stateOf } from './errors.ts';
import { requireRights } from './rights.ts';

/** A migration may have to rewrite a large table. No request is served meanwhile. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
/**
 * While a migration waits for the lock of a table, the statements of every other program wait behind it. It
 * stops waiting before they time out, and the service starts again.
 */
const LOCK_TIMEOUT_MS = 1_000;

/**
 * Brings the schema up to date. Of several processes that start at once, one does it and the others wait. Throws
 * a Refusal if another session is in the way, such as one that creates the same tables: it will succeed later.
 */
export function migrate(connection: Connection, shown: string, access: Access = {}): Promise<void> {
  return bringUpToDate(connection, { shown, access }, (run, work) =>
    inTransaction(connection, run, async () => {
      await run(NO_TRANSACTION_TIMEOUTS);
      await work();
    }),
  );
}

/** The same in a transaction that the caller has begun. */
export function migrateInTransaction(
  connection: Connection,
  shown: string,
  access: Access,
): Promise<void> {
  return bringUpToDate(connection, { shown, access }, (_, work) => work());
}

type Run = (text: string) => Promise<readonly (readonly unknown[])[]>;

interface Opened {
  shown: string;
  access: Access;
}

async function bringUpToDate(
  connection: Connection,
  { shown, access }: Opened,
  transact: (run: Run, work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const migrations = readMigrations(new URL('./migrations/', import.meta.url));
  const run = (text: string) => ask(connection, text, MIGRATION_TIMEOUT_MS);
  try {
    const schema = await readSchema(connection, shown);
    if (pendingMigrations(migrations, schema, shown, access).length > 0) {
      await transact(run, () => applyPending(run, migrations, { shown, access }));
    }
    await identify(connection, shown, access);
    await requireRightStore((text) => check(connection, text), shown, access);
  } catch (error) {
    throw error instanceof StoreUnusable ? error : refused(error, shown);
  }
}

/** Gives a store that has no identity that of the service; a command, which may not migrate, leaves it as it is. */
async function identify(
  connection: Connection,
  shown: string,
  { identity, mayMigrate = true }: Access,
): Promise<void> {
  if (identity === undefined || !mayMigrate) return;
  const isKnown = (await check(connection, SELECT_IDENTITY)).length > 0;
  if (isKnown) return;
  await requireRights(connection, shown, { store_identity: ['INSERT'] });
  await check(connection, insertIdentity(identity));
}

async function requireRightStore(run: Run, shown: string, { environment }: Access) {
  const [row] = await run(SELECT_IDENTITY);
  const found = row && identityOfRow(row as IdentityRow);
  const correct = `correct a wrong one with UPDATE store_identity SET environment = '${environment}'`;
  const other = `name another database in the URL, or ${correct}`;
  requireEnvironment(found, environment, { store: shown, other });
}

/** Refuses a database without a store. Any version of a store is accepted. */
export async function requireStore(connection: Connection, shown: string): Promise<void> {
  if ((await readSchema(connection, shown)).version === 0) throw noStore(shown);
}

async function readSchema(connection: Connection, shown: string): Promise<StoreSchema> {
  const [row] = await check(
    connection,
    `SELECT current_setting('server_encoding'),
            to_regclass('petstore_schema') IS NOT NULL,
            to_regclass('pets') IS NOT NULL,
            to_regclass('unfinished_copy') IS NOT NULL,
            EXISTS (SELECT FROM pg_attribute
                    WHERE attrelid = to_regclass('store_identity') AND attname = 'migrated_by')`,
  );
  const [encoding, isOurs, hasPets, isUnfinished, hasProgram] = row ?? [];
  if (encoding !== 'UTF8') {
    throw new StoreUnusable(
      `${shown} has the encoding ${String(encoding)}, which cannot hold every name: create the database with ENCODING 'UTF8'.`,
    );
  }
  if (isOurs === true && isUnfinished === true) {
    const [source] = await check(connection, 'SELECT source FROM unfinished_copy');
    throw unfinishedCopy(shown, source?.[0]);
  }
  if (isOurs === true) {
    const program = hasProgram === true ? '(SELECT migrated_by FROM store_identity)' : 'NULL';
    const [found] = await check(connection, `SELECT version, ${program} FROM petstore_schema`);
    const [version, migratedBy] = (found ?? []) as [number?, (string | null)?];
    return { version: version ?? 0, migratedBy: migratedBy ?? undefined };
  }
  if (hasPets !== true) return { version: 0 };
  throw new StoreUnusable(
    `${shown} has a table "pets" of another program: the database URL must name a database of the pet store's own.`,
  );
}

async function applyPending(
  run: Run,
  migrations: Migration[],
  { shown, access }: Opened,
): Promise<void> {
  // Other processes wait at one of these statements. Those that wait to create the table are refused then, and
  // those that wait for its row find the migration done.
  await run(`
    CREATE TABLE IF NOT EXISTS petstore_schema (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      version  integer NOT NULL)`);
  await run('INSERT INTO petstore_schema (version) VALUES (0) ON CONFLICT DO NOTHING');
  await run(`SET LOCAL statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
  const [row] = await run('SELECT version FROM petstore_schema FOR UPDATE');
  const version = Number(row?.[0] ?? 0);
  await run(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  for (const { sql } of pendingMigrations(migrations, { version }, shown)) await run(sql);
  await run(`UPDATE petstore_schema SET version = ${migrations.length}`);
  if (access.identity !== undefined) await run(insertIdentity(access.identity));
  await run(REMEMBER_PROGRAM);
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
