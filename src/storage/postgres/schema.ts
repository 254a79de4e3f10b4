import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnusable } from '../../domain/store.ts';
import { pendingMigrations, readMigrations, type Migration } from '../migrate.ts';
import type { Connection, Row } from './connection.ts';
import { deadlineIn } from './deadline.ts';
import { stateOf } from './faults.ts';

const LOOK_TIMEOUT_MS = 4_000;
/** A migration may have to rewrite a large table; nobody is served meanwhile. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
const ATTEMPTS_MAX = 20;
const ATTEMPT_DELAY_MS = 50;

/** What PostgreSQL may answer to all but one of several processes that create the same table at once. */
const RACE_LOST = new Set(['23505', '42P07', '42710', '40001', '40P01', 'XX000']);

/** Brings the schema up to date. Of many processes that start at once, one does it and the others wait. */
export async function migrate(connection: Connection, shown: string): Promise<void> {
  const migrations = readMigrations(new URL('./migrations/', import.meta.url));
  for (let attempt = 1; ; attempt += 1) {
    try {
      const version = await readVersion(connection, shown);
      if (pendingMigrations(migrations, version, shown).length === 0) return;
      await applyPending(connection, migrations, shown);
      return;
    } catch (error) {
      await execute(connection, 'ROLLBACK').catch(() => undefined);
      if (error instanceof StoreUnusable) throw error;
      const state = stateOf(error);
      const isRace = state !== undefined && RACE_LOST.has(state);
      if (!isRace || attempt === ATTEMPTS_MAX) throw refused(error, shown);
      await sleep(ATTEMPT_DELAY_MS);
    }
  }
}

/** 0 where nothing was ever set up. */
async function readVersion(connection: Connection, shown: string): Promise<number> {
  const [row] = await execute(
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
    const [versionRow] = await execute(connection, 'SELECT version FROM petstore_schema');
    return Number(versionRow?.[0] ?? 0);
  }
  if (hasPets !== true) return 0;
  throw new StoreUnusable(
    `${shown} has a table "pets" of another program: DATABASE_URL must name a database of the pet store's own.`,
  );
}

/** What the statements of the store do with each table. */
const RIGHTS = {
  pets: ['SELECT', 'INSERT'],
  pet_counter: ['SELECT', 'UPDATE'],
  api_keys: ['SELECT', 'INSERT', 'UPDATE'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  imports: ['SELECT', 'INSERT', 'UPDATE'],
};

/** Refuses a user who could not do everything: without this, the first create would find out. */
export async function requireRights(connection: Connection, shown: string): Promise<void> {
  const needed = Object.entries(RIGHTS).flatMap(([table, rights]) =>
    rights.map((right) => `('${table}', '${right}')`),
  );
  const [row] = await execute(
    connection,
    `SELECT current_user, string_agg(privilege || ' on ' || name, ', ')
     FROM (VALUES ${needed.join(', ')}) AS needed (name, privilege)
     WHERE NOT has_table_privilege(name, privilege)`,
  );
  const [user, missing] = row as [string, string | null];
  if (missing === null) return;
  throw new StoreUnusable(
    `${shown} does not give the user ${user} the rights ${missing}: GRANT them, or name the owner of the tables in DATABASE_URL.`,
  );
}

/** The source that the marker of an unfinished copy names, or undefined where there is no marker. */
export async function unfinishedCopyOf(connection: Connection): Promise<string | undefined> {
  const [found] = await execute(connection, `SELECT to_regclass('unfinished_copy') IS NOT NULL`);
  if (found?.[0] !== true) return undefined;
  const [row] = await execute(connection, 'SELECT source FROM unfinished_copy');
  return String(row?.[0]);
}

async function applyPending(
  connection: Connection,
  migrations: Migration[],
  shown: string,
): Promise<void> {
  await execute(
    connection,
    `CREATE TABLE IF NOT EXISTS petstore_schema (
       only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
       version  integer NOT NULL)`,
  );
  await execute(
    connection,
    'INSERT INTO petstore_schema (version) VALUES (0) ON CONFLICT DO NOTHING',
  );
  await execute(connection, 'BEGIN');
  await execute(connection, `SET LOCAL statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
  // Everybody else who wants to migrate waits here, and then finds it done. A row, because not every
  // engine that speaks this protocol can lock a table.
  const [row] = await execute(connection, 'SELECT version FROM petstore_schema FOR UPDATE');
  const version = Number(row?.[0] ?? 0);
  for (const { sql } of pendingMigrations(migrations, version, shown)) {
    await execute(connection, sql);
  }
  await execute(connection, `UPDATE petstore_schema SET version = ${migrations.length}`);
  await execute(connection, 'COMMIT');
}

function execute(connection: Connection, text: string): Promise<Row[]> {
  const isLook = text.startsWith('SELECT') && !text.endsWith('FOR UPDATE');
  const timeout = isLook ? LOOK_TIMEOUT_MS : MIGRATION_TIMEOUT_MS;
  // Without a name and values it is sent as plain text, so that one text may hold several statements.
  return connection.query({ name: '', text }, [], deadlineIn(timeout));
}

function refused(error: unknown, shown: string): StoreUnusable {
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreUnusable(
    `${shown} cannot be set up (${reason}): the user in DATABASE_URL must be allowed to create tables there.`,
    { cause: error },
  );
}
