import { StoreFault, StoreUnusable } from '../../domain/store.ts';
import type { Access } from '../../domain/store-identity.ts';
import { exactJson, selectPage } from './copy.ts';
import type { CatalogueReader, CopyTarget, Row } from './copy.ts';
import { parseAddress } from '../postgres/address.ts';
import { deadlineIn } from '../deadline.ts';
import { unavailable } from '../unavailable.ts';
import { NO_TRANSACTION_TIMEOUTS, type Connection } from '../postgres/connection.ts';
import { LOCK_NOT_AVAILABLE, RIGHT_MISSING, stateOf } from '../postgres/errors.ts';
import { Hosts, openFirst } from '../postgres/hosts.ts';
import { createTables, migrate, requireStore } from '../postgres/migrate.ts';

/** No request waits for these statements, and one of them may read or write much. */
const STATEMENT_TIMEOUT_MS = 600_000;
/** Longer than the server needs to roll back a copy that was killed. */
const LOCK_TIMEOUT_MS = 5_000;

/** Other programs may keep writing: the first read takes a snapshot, which does not change. */
const BEGIN_SNAPSHOT =
  'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT version FROM petstore_schema';

/** If the connection is lost without the server noticing, the second timeout releases the locks of a copy. */
const BEGIN_COPY = `
  BEGIN;
  SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_TIMEOUT_MS}`;

/** Every create, the first key and every other copy need this lock. */
const LOCK_COUNTER = 'SELECT last_id FROM pet_counter FOR UPDATE';

const LAST_ID = 'SELECT greatest(last_id, (SELECT max(id) FROM pets)) AS last_id FROM pet_counter';

type Run = (text: string, values?: unknown[]) => Promise<Row[]>;

export interface OpenTransaction {
  connection: Connection;
  run: Run;
}

/** Opens a database to read one snapshot of it. */
export async function openPostgresReader(
  url: string,
  access: Access = {},
): Promise<CatalogueReader> {
  return readerOf(
    await open(url, async (connection, run, shown) => {
      await migrate(connection, shown, { ...access, mayMigrate: false });
      await run(BEGIN_SNAPSHOT);
    }),
  );
}

/** Opens a store of any version, without changing it. */
export function openToRead(url: string): Promise<OpenTransaction> {
  return open(url, async (connection, run, shown) => {
    await requireStore(connection, shown);
    await run(BEGIN_SNAPSHOT);
  });
}

export async function openPostgresTarget(url: string): Promise<CopyTarget> {
  const opened = await open(url, async (connection, run, shown) => {
    await run(BEGIN_COPY);
    // The tables of a new store are part of the copy: without their content it is no store.
    await createTables(connection, shown);
    await run(LOCK_COUNTER);
  });
  const { run } = opened;
  return {
    ...readerOf(opened),
    /** Inserts many rows with one statement, which takes them as JSON and knows the types of the columns. */
    async write({ name, columns }, rows) {
      // The service may have given the empty target an identity of its own.
      if (name === 'store_identity') await run('DELETE FROM store_identity');
      const names = columns.split(', ');
      const values = rows.map((row) =>
        Object.fromEntries(row.map((value, index) => [names[index], value])),
      );
      await run(
        `INSERT INTO ${name} (${columns})
         SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1)`,
        [exactJson(values)],
      );
    },
    async setLastId(id) {
      await run('UPDATE pet_counter SET last_id = $1::bigint', [id]);
    },
    async commit() {
      await run('COMMIT');
    },
  };
}

/** The server rolls the transaction back when the connection is closed or lost before the commit. */
async function open(
  url: string,
  begin: (connection: Connection, run: Run, shown: string) => Promise<void>,
): Promise<OpenTransaction> {
  const address = parseAddress(url);
  const hosts = new Hosts(address);
  const connection = await openFirst(hosts);
  hosts.close();
  const send: Run = async (text, values = []) =>
    (await connection.query({ name: '', text }, values, deadlineIn(STATEMENT_TIMEOUT_MS))) as Row[];
  const run: Run = (text, values) =>
    send(text, values).catch((error: unknown) => {
      if (stateOf(error) !== RIGHT_MISSING) throw unavailable(error);
      const { message } = error as Error;
      throw new StoreUnusable(`${message}: grant the right as docs/postgresql.md shows.`);
    });
  try {
    await run(`SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; ${NO_TRANSACTION_TIMEOUTS}`);
    await begin(connection, run, address.shown);
    return { connection, run };
  } catch (error) {
    await connection.close();
    if (stateOf((error as Error).cause) !== LOCK_NOT_AVAILABLE) throw error;
    throw new StoreFault('another program writes to the target: it must be new or empty.', {
      cause: error,
    });
  }
}

function readerOf({ connection, run }: OpenTransaction): CatalogueReader {
  return {
    read: (table, after, count) => run(selectPage(table, '$'), [...after, count]),
    count: async ({ name }) => Number((await run(`SELECT count(*) FROM ${name}`))[0]?.[0]),
    // Also above an animal that was inserted by hand: in SQLite, no new id is below it.
    lastId: async () => (await run(LAST_ID))[0]?.[0] as bigint,
    close: () => connection.close(),
  };
}
