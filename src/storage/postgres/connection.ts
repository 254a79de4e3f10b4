import { Client, DatabaseError, types } from 'pg';
import type { Address, Host } from './address.ts';
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
  /** Answers the rows. Past the deadline (a time of performance.now) the connection is destroyed. */
  query(statement: Statement, values: unknown[], deadline: number): Promise<Row[]>;
  /** False once it was lost or destroyed. */
  isUsable(): boolean;
  /** Called once, when the connection is lost without having been closed. */
  onLost(listener: () => void): void;
  close(): Promise<void>;
  destroy(): void;
}

// Prepared before anything else runs on a connection. Not sent as start-up parameters, because poolers
// that stand between us and PostgreSQL refuse those they do not know.
const PREPARE_SESSION = `
  SET statement_timeout = ${STATEMENT_TIMEOUT_MS};
  SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off';
  SHOW transaction_read_only`;

/** A server that answers, but takes no writes: a standby, or one that was fenced off. */
export class ReadOnlyServer extends Error {
  constructor() {
    super('it is a standby, or takes no writes');
    this.name = 'ReadOnlyServer';
  }
}

/** Connects to one host, and resolves only when it can be written to. */
export async function openConnection(
  { user, password, database, tls }: Address,
  { host, port }: Host,
): Promise<Connection> {
  const client = new Client({
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
  });
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
    const deadline = performance.now() + CONNECT_TIMEOUT_MS;
    await this.#client.connect();
    this.#isUsable = true;
    const prepared = this.#client.query<Row>({ text: PREPARE_SESSION, rowMode: 'array' });
    // One result a statement, which the types of the driver do not tell.
    const results = (await this.#inTime(prepared, deadline)) as unknown as { rows: Row[] }[];
    if (results.at(-1)?.rows[0]?.[0] !== 'off') throw new ReadOnlyServer();
  }

  async query({ name, text }: Statement, values: unknown[], deadline: number): Promise<Row[]> {
    if (!this.#isUsable) throw new ConnectionGone();
    if (performance.now() >= deadline) throw new NotSent('its time was over before it was sent');
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

  async #inTime<Result>(answer: Promise<Result>, deadline: number): Promise<Result> {
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

/** What a timer can be set to: a deadline that has passed is one that passes now. */
export function timeLeftMs(deadline: number): number {
  return Math.max(0, deadline - performance.now());
}
