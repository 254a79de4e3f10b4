import { Client, DatabaseError, types } from 'pg';
import type { Address, Host } from './address.ts';
import { deadlineIn, timeLeftMs, type Deadline } from './deadline.ts';
import { ConnectionGone, NoAnswer, NotSent } from './faults.ts';

const CONNECT_TIMEOUT_MS = 2_000;
/** The server gives a statement up after this long, also when the one who sent it is gone. */
const STATEMENT_TIMEOUT_MS = 3_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
const GOODBYE_TIMEOUT_MS = 1_000;
const WARNING = '01000';

/** A statement that each connection prepares once, under its name. */
export interface Statement {
  name: string;
  text: string;
}

/** Rows are arrays, in the order of the columns. */
export type Row = unknown[];

/** One connection: it carries one query at a time. */
export interface Connection {
  /** Answers the rows. Past the deadline the connection is destroyed. */
  query(statement: Statement, values: unknown[], deadline: Deadline): Promise<Row[]>;
  /** False once it was lost or destroyed. */
  isUsable(): boolean;
  /** Called once, when the connection is lost without having been closed. */
  onLost(listener: () => void): void;
  close(): Promise<void>;
  destroy(): void;
}

// Prepared before anything else runs on a connection. Not sent as start-up parameters, because poolers
// that stand between us and PostgreSQL refuse those they do not know. Each is set even where it has the
// right value: what the session has set is not changed by a reload of the server's configuration.
//
// - client_min_messages: the warning that a commit did not reach the standby must arrive here.
// - synchronous_commit: a create is acknowledged when its commit is on the disk, and on the standby.
// - search_path: the one schema where the catalogue lives, so that a schema that comes before it on the
//   search_path, such as one named like the role, cannot replace its tables. A new catalogue is created
//   where PostgreSQL would create tables, which is public unless the role is configured otherwise.
const PREPARE_SESSION = `
  SET statement_timeout = ${STATEMENT_TIMEOUT_MS};
  SET default_transaction_isolation = 'read committed';
  SET client_min_messages = warning;
  SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false);
  WITH catalogue AS MATERIALIZED (
    SELECT nspname::text AS schema FROM pg_namespace
    JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = 'petstore_schema'
    WHERE nspname = ANY (current_schemas(false))
  )
  SELECT array(SELECT schema FROM catalogue ORDER BY schema),
         set_config('search_path', quote_ident(coalesce(
           (SELECT min(schema) FROM catalogue), current_schema(), 'public')), false);
  SHOW transaction_read_only`;

/** A server that answers, but takes no writes: a standby, or one that was fenced off. */
export class ReadOnlyServer extends Error {
  constructor() {
    super('it is a standby, or takes no writes');
    this.name = 'ReadOnlyServer';
  }
}

/** The search_path leads to several catalogues. Taking the first would depend on who added a schema last. */
export class SeveralCatalogues extends Error {
  constructor(schemas: string[]) {
    super(
      `has a catalogue in each of the schemas ${schemas.join(', ')}: name one of them with ALTER ROLE … SET search_path`,
    );
    this.name = 'SeveralCatalogues';
  }
}

function newClient(
  { user, password, database, tls }: Address,
  { host, port }: Host,
  queryTimeoutMs?: number,
): Client {
  return new Client({
    host,
    port,
    user,
    password,
    database,
    ssl: tls,
    application_name: 'petstore',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs }),
  });
}

/** Connects the driver itself to one host, of whatever kind: for questions about the host. */
export async function openClient(
  address: Address,
  host: Host,
  queryTimeoutMs: number,
): Promise<Client> {
  const client = newClient(address, host, queryTimeoutMs);
  // A listener always: an error of an idle connection would otherwise end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}

/** Connects to one host, and resolves only when it can be written to. */
export async function openConnection(address: Address, host: Host): Promise<Connection> {
  const client = newClient(address, host);
  // Integers of 64 bits are read exactly, on our own connections and nobody else's.
  client.setTypeParser(types.builtins.INT8, BigInt);
  const connection = new ClientConnection(client);
  try {
    await connection.start();
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

class ClientConnection implements Connection {
  readonly #client: Client;
  #isUsable = false;
  #isBusy = false;
  #isDoubtful = false;
  #lostListener: (() => void) | undefined;

  constructor(client: Client) {
    this.#client = client;
    // A listener always: an error of an idle connection would otherwise end the process.
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
    // The one warning our statements can meet: a commit stopped waiting for its standby, because somebody
    // cancelled it by hand. PostgreSQL calls that a success; whoever asked for two copies would not.
    client.on('notice', ({ code }) => {
      if (code === WARNING) this.#isDoubtful = true;
    });
  }

  async start(): Promise<void> {
    const deadline = deadlineIn(CONNECT_TIMEOUT_MS);
    await this.#client.connect();
    this.#isUsable = true;
    const prepared = this.#client.query<Row>({ text: PREPARE_SESSION, rowMode: 'array' });
    // One result a statement, which the types of the driver do not tell.
    const results = (await this.#inTime(prepared, deadline)) as unknown as { rows: Row[] }[];
    if (results.at(-1)?.rows[0]?.[0] !== 'off') throw new ReadOnlyServer();
    const schemas = results.at(-2)?.rows[0]?.[0] as string[];
    if (schemas.length > 1) throw new SeveralCatalogues(schemas);
  }

  async query({ name, text }: Statement, values: unknown[], deadline: Deadline): Promise<Row[]> {
    if (!this.#isUsable) throw new ConnectionGone();
    if (timeLeftMs(deadline) === 0) throw new NotSent('its time was over before it was sent');
    if (this.#isBusy) throw new NotSent('the connection is busy with another query');
    this.#isBusy = true;
    this.#isDoubtful = false;
    try {
      const sent = this.#client.query<Row>({ name, text, values, rowMode: 'array' });
      const result = await this.#inTime(sent, deadline);
      if (this.#isDoubtful) throw new NoAnswer('it may not have reached the standby');
      // Several statements in one text give several results; nobody reads those.
      return Array.isArray(result) ? [] : result.rows;
    } catch (error) {
      if (error instanceof DatabaseError || error instanceof NoAnswer) throw error;
      this.destroy();
      throw new NoAnswer('the connection ended before the answer', { cause: error });
    } finally {
      this.#isBusy = false;
    }
  }

  isUsable(): boolean {
    return this.#isUsable;
  }

  onLost(listener: () => void): void {
    this.#lostListener = listener;
  }

  async close(): Promise<void> {
    this.#isUsable = false;
    const timer = setTimeout(() => this.destroy(), GOODBYE_TIMEOUT_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  /** A late answer can reach nobody: the socket is gone, and no caller is ever given this one again. */
  destroy(): void {
    this.#isUsable = false;
    this.#client.connection.stream.destroy();
  }

  #lose(): void {
    if (!this.#isUsable) return;
    this.#isUsable = false;
    this.#lostListener?.();
  }

  async #inTime<Result>(answer: Promise<Result>, deadline: Deadline): Promise<Result> {
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.destroy();
      reject(new NoAnswer('no answer in time'));
    }, timeLeftMs(deadline));
    try {
      return await Promise.race([answer, silence]);
    } finally {
      clearTimeout(timer);
    }
  }
}
