import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError, defaults, types, type ClientConfig } from 'pg';
import pgPass from 'pgpass';
import { deadlineIn, timeLeftMs, type Deadline } from '../deadline.ts';
import type { Address, Host } from './address.ts';
import { NoResponse, NotSent, OVERDUE, readOnlyHost, UnusableHost } from './errors.ts';

const CONNECT_TIMEOUT_MS = 2_000;
const CHECK_TIMEOUT_MS = 4_000;
/** The server ends a statement after this time, also when its client has disconnected. */
const STATEMENT_TIMEOUT_MS = 3_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
const CLOSE_TIMEOUT_MS = 1_000;
/** A notification takes milliseconds. The full time passes only where the host is about to be refused. */
const NOTIFICATION_TIMEOUT_MS = 3_000;
const WARNING = '01000';
/** The message of the driver for a query without a response in time. */
const DRIVER_OVERDUE = 'Query read timeout';

/** A statement that each connection prepares once, under its name. Without a name it is not prepared. */
export interface Statement {
  name: string;
  text: string;
}

/** Rows are arrays, in the order of the columns. */
export type Row = unknown[];

/**
 * Sent first on every connection. These are not start-up parameters, because a pooler refuses parameters it
 * does not know. Each is set even where it has the right value already, because a reload of the server's
 * configuration does not change what the session itself has set.
 */
const SESSION_SETTINGS = [
  `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  // Creates wait for the counter, for as long as a statement may take.
  'SET lock_timeout = 0',
  // A create that waited for the counter must see the value that was committed meanwhile.
  `SET default_transaction_isolation = 'read committed'`,
  // The warning that a commit did not reach the standby must arrive here.
  'SET client_min_messages = warning',
  // Compiling the statement of a batch takes seconds, many times as long as running it. The packages of Debian
  // and the official container image compile by default. Every statement searches indexes, and a plan that was made
  // while a table was small must not read all of it. Not every compatible database has these settings.
  `SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('jit', 'enable_seqscan')`,
  // Otherwise PostgreSQL plans each batch with claims anew, which takes as long as running it.
  `SELECT set_config(name, 'force_generic_plan', false) FROM pg_settings WHERE name = 'plan_cache_mode'`,
  // A create is acknowledged when its commit is on the disk, and on the standby.
  `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
     WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`,
];

/**
 * Limits the search_path to the one schema that holds the catalogue, so that a schema that comes before it,
 * such as one named like the role, cannot replace its tables. A new catalogue is created where PostgreSQL
 * would create tables, which is public unless the role is configured otherwise. Returns whether the server
 * is read-only, whether it is a standby, and every schema that holds a catalogue.
 */
const CHOOSE_SCHEMA = `
  WITH catalogue AS MATERIALIZED (
    SELECT nspname::text AS schema FROM pg_namespace
    JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = 'petstore_schema'
    WHERE nspname = ANY (current_schemas(false))
  )
  SELECT current_setting('transaction_read_only') = 'on', pg_is_in_recovery(),
         array(SELECT schema FROM catalogue ORDER BY schema),
         set_config('search_path', quote_ident(coalesce(
           (SELECT min(schema) FROM catalogue), current_schema(), 'public')), false)`;

/** One text, so that a new connection needs one round trip for all of them. */
const PREPARE_SESSION = [...SESSION_SETTINGS, CHOOSE_SCHEMA].join(';');

/** Connects to one host, and resolves only when it can be written to. */
export async function openConnection(address: Address, host: Host): Promise<Connection> {
  const connection = await connect(address, host);
  try {
    await prepareSession(connection);
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Sets what every session needs, and throws if it cannot be written to. */
export async function prepareSession(connection: Connection): Promise<void> {
  const [row] = await ask(connection, PREPARE_SESSION);
  const [isReadOnly, isStandby, schemas] = row as [boolean, boolean, string[]];
  if (isReadOnly) throw readOnlyHost(isStandby);
  // Choosing the first would depend on which schema was added last.
  if (schemas.length > 1) {
    throw new UnusableHost(
      `has a catalogue in each of the schemas ${schemas.join(', ')}: name one of them with ALTER ROLE … SET search_path`,
    );
  }
}

/** Sends a text that is not prepared, and may contain several statements. */
export function ask(
  connection: Connection,
  text: string,
  timeoutMs = CONNECT_TIMEOUT_MS,
): Promise<Row[]> {
  return connection.query({ name: '', text }, [], deadlineIn(timeoutMs));
}

/** Sends a query of the start, which a busy server may delay. */
export function check(connection: Connection, text: string): Promise<Row[]> {
  return ask(connection, text, CHECK_TIMEOUT_MS);
}

/**
 * For a session whose transaction takes long: timeouts of the role would end it. Sent as `jit` is set, because
 * PostgreSQL 15 has only one of them.
 */
export const NO_TRANSACTION_TIMEOUTS = `
  SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('transaction_timeout', 'idle_in_transaction_session_timeout')`;

/**
 * A password that is neither in the URL nor in PGPASSWORD is in the file that PGPASSFILE names. `pg` would warn that it
 * will not read that file for ever.
 */
Object.assign(defaults, {
  password: (connection: Parameters<typeof pgPass>[0]) =>
    new Promise((resolve) => {
      pgPass(connection, resolve);
    }),
});

export function clientOptions({ options }: Address, host: Host): ClientConfig {
  return {
    ...options,
    ...host,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
  };
}

/** Connects to one host, whether or not it takes writes, and leaves the session as it is. */
export async function connect(address: Address, host: Host): Promise<Connection> {
  const client = new Client(clientOptions(address, host));
  const connection = new Connection(client);
  try {
    await client.connect();
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** One connection, of a pool or by itself. It carries one query at a time. */
export class Connection {
  readonly client: Client;
  #isDoubtful = false;

  constructor(client: Client) {
    this.client = client;
    // 64-bit integers are read exactly, on these connections only.
    client.setTypeParser(types.builtins.INT8, BigInt);
    // Without a listener, an error on an idle connection would end the process. The next query reports it.
    client.on('error', () => undefined);
    // The only warning these statements can cause: a commit stopped waiting for its standby, because somebody
    // cancelled the wait. PostgreSQL reports success, but the second copy does not exist.
    client.on('notice', ({ code }) => {
      if (code === WARNING) this.#isDoubtful = true;
    });
  }

  /** Resolves to the rows of the (last) statement. Past the deadline the connection is destroyed. */
  async query({ name, text }: Statement, values: unknown[], deadline: Deadline): Promise<Row[]> {
    const timeoutMs = Math.ceil(timeLeftMs(deadline));
    if (timeoutMs === 0) throw new NotSent('its time was over before it was sent');
    this.#isDoubtful = false;
    const query = { name, text, values, rowMode: 'array', query_timeout: timeoutMs } as const;
    try {
      const result = await this.client.query<Row>(query);
      if (this.#isDoubtful) throw new NoResponse('it may not have reached the standby');
      // Several statements have several results, which the types of the driver do not say.
      return (Array.isArray(result) ? (result as (typeof result)[]).at(-1) : result)?.rows ?? [];
    } catch (error) {
      if (error instanceof DatabaseError || error instanceof NoResponse) throw error;
      this.destroy();
      const { message } = error as Error;
      throw new NoResponse(message === DRIVER_OVERDUE ? OVERDUE : message, { cause: error });
    }
  }

  /** False once the connection was lost, closed or destroyed. */
  isUsable(): boolean {
    return !this.client.connection.stream.destroyed;
  }

  async close(): Promise<void> {
    const timer = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS);
    await this.client.end();
    clearTimeout(timer);
  }

  [Symbol.dispose](): void {
    void this.close();
  }

  /** Closes the socket, so that a late response reaches no caller. */
  destroy(): void {
    this.client.connection.stream.destroy();
  }
}

/** Runs `work` in a transaction, which is rolled back if `work` throws. `run` sends a text on the connection. */
export async function inTransaction<Result>(
  connection: Connection,
  run: (text: string) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  await run('BEGIN');
  try {
    const result = await work();
    await run('COMMIT');
    return result;
  } catch (error) {
    // The server rolls back what a lost connection leaves behind.
    await run('ROLLBACK').catch(() => connection.destroy());
    throw error;
  }
}

/**
 * Throws where a connection has no session of its own, as behind PgBouncer with `pool_mode = transaction`
 * or `statement`: the settings of the session would be lost, durability among them.
 *
 * Comparing sessions between statements is not enough, because an idle pooler assigns the same session
 * again. A notification shows it every time: an idle connection receives one only while a session belongs
 * to it.
 */
export async function requireOwnSession(address: Address, host: Host): Promise<void> {
  using listener = await connect(address, host);
  const session = await sessionOf(listener);
  // PostgreSQL names its process when a connection begins; a pooler invents a number.
  if (session === (listener.client as unknown as { processID: number | null }).processID) return;
  using notifier = await connect(address, host);
  const isShared =
    session === (await sessionOf(notifier)) ||
    !(await receives(listener, notifier, `petstore_${String(session)}`));
  if (!isShared) return;
  throw new UnusableHost(
    'is a pooler whose connections share sessions: it must give each its own, in PgBouncer with pool_mode = session',
  );
}

async function sessionOf(connection: Connection): Promise<unknown> {
  const [row] = await ask(connection, 'SELECT pg_backend_pid()');
  return row?.[0];
}

async function receives(
  listener: Connection,
  notifier: Connection,
  channel: string,
): Promise<boolean> {
  const { promise: received, resolve } = Promise.withResolvers<boolean>();
  listener.client.on('notification', () => resolve(true));
  await ask(listener, `LISTEN ${channel}`);
  // The notification is not for standbys, so one that is away must not delay the start.
  await ask(
    notifier,
    `SELECT set_config('synchronous_commit', 'local', true), pg_notify('${channel}', '')`,
  );
  return Promise.race([received, sleep(NOTIFICATION_TIMEOUT_MS, false, { ref: false })]);
}
