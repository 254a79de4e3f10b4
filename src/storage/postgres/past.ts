import { counter, type Figure, type Measured } from '../../ops/metrics.ts';
import { deadlineIn, type Deadline } from '../deadline.ts';
import type { Connection, Row, Statement } from './connection.ts';
import { WrongServer } from './errors.ts';
import type { Pool } from './pool.ts';

const READ_INTERVAL_MS = 1_000;
const READ_TIMEOUT_MS = 2_000;

/**
 * The last value tells this database of this running server from every other one, also where several servers have
 * one address. A database keeps its oid when it is renamed.
 */
const READ_PAST = {
  name: 'readPast',
  text: `
    SELECT last_id, store_id, concat(extract(epoch FROM pg_postmaster_start_time()), ' ',
             (SELECT oid FROM pg_database WHERE datname = current_database()))
    FROM pet_counter LEFT JOIN store_identity ON true`,
};

type PastRow = [lastId: bigint, storeId: string | null, database: string];

export interface PastEvents {
  /** Called once for each database that has lost the past of the store, or is another store. */
  onRefused?: ((message: string) => void) | undefined;
  /** Called once for each server that was reached while connections to another one were open. */
  onWarning?: ((message: string) => void) | undefined;
}

/**
 * What this process knows of its store: the highest value of the counter that it was given or has read, and the id
 * of the store. A failover manager can promote a server without the last commits, a database can be swapped under a
 * running service, and one address can lead to two servers. Each would assign ids a second time, so none is served.
 *
 * Ids in rows do not count: one that was inserted by hand may be above the counter.
 */
export class Past implements Measured {
  readonly #events: PastEvents;
  #lastId = 0n;
  readonly #storeId: string;
  /**
   * Databases that were refused, with the reason. They stay refused: another process, which remembers less, may
   * assign the lost ids again, and then the counter shows nothing.
   */
  readonly #refused = new Map<string, string>();
  #refusals = 0;
  /** The database of each open connection. */
  readonly #databases = new Map<Connection, string>();
  readonly #warned = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(storeId: string, events: PastEvents = {}) {
    this.#storeId = storeId;
    this.#events = events;
  }

  /** Called with every value of the counter that a commit of this process has returned. */
  remember(lastId: bigint): void {
    if (lastId > this.#lastId) this.#lastId = lastId;
  }

  /** Sends a create with the last id: where the counter is below it, nothing is stored, and no row returned. */
  async sendCreate(
    connection: Connection,
    { statement, values }: { statement: Statement; values: unknown[] },
    deadline: Deadline,
  ): Promise<Row[]> {
    const rows = await connection.query(statement, [...values, this.#lastId], deadline);
    if (rows.length > 0) return rows;
    await this.require(connection);
    throw new WrongServer('had lost animals, and its counter was raised meanwhile');
  }

  /** Throws if the server is of another store, or has lost what this process knew before it asked. */
  async require(connection: Connection): Promise<void> {
    const known = this.#lastId;
    const deadline = deadlineIn(READ_TIMEOUT_MS);
    const [row = []] = await connection.query(READ_PAST, [], deadline);
    const [lastId = 0n, storeId = null, database = ''] = row as PastRow | [];
    const reason = this.#refused.get(database) ?? this.#lossIn(known, lastId, storeId);
    if (reason === undefined) {
      this.#requireSame(connection, database);
      return this.remember(lastId);
    }
    this.#refusals += 1;
    if (!this.#refused.has(database)) {
      this.#refused.set(database, reason);
      this.#events.onRefused?.(`${nameOf(connection)} ${reason}`);
    }
    throw new WrongServer(reason);
  }

  /** Reads the counter from now on, for what other processes create, and for a counter that is set back. */
  watch(pool: Pool): void {
    let isAsking = false;
    const ask = async () => {
      if (isAsking) return;
      isAsking = true;
      await pool
        .run(deadlineIn(READ_TIMEOUT_MS), (connection) => this.require(connection))
        // An unreachable database is reported by the requests that need it.
        .catch(() => undefined);
      isAsking = false;
    };
    this.#timer = setInterval(() => void ask(), READ_INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  figures(): Figure[] {
    const help =
      'Sessions refused because the server had lost animals, or because it was another store.';
    return [counter('petstore_sessions_refused_total', help, this.#refusals)];
  }

  /** All connections reach one database of one running server, however many have the address. */
  #requireSame(connection: Connection, database: string): void {
    for (const [other, name] of this.#databases) {
      if (!other.isUsable()) this.#databases.delete(other);
      else if (name !== database) throw this.#anotherServer(connection, database);
    }
    this.#databases.set(connection, database);
  }

  #anotherServer(connection: Connection, database: string): WrongServer {
    const reason =
      'leads to another server than the open connections, so all are replaced: one address must never lead to two servers that take writes';
    if (!this.#warned.has(database)) this.#events.onWarning?.(`${nameOf(connection)} ${reason}`);
    this.#warned.add(database);
    return new WrongServer(reason);
  }

  #lossIn(known: bigint, lastId: bigint, storeId: string | null): string | undefined {
    const remedy = 'docs/postgresql.md says what to do';
    if (storeId !== this.#storeId) {
      return `is another store: its id is ${storeId}, and this process has served ${this.#storeId}; ${remedy}`;
    }
    if (lastId >= known) return undefined;
    return `has lost animals: its last id is ${lastId}, and ${known} was assigned; ${remedy}`;
  }
}

function nameOf({ client: { host, port } }: Connection): string {
  return `${host}:${port}`;
}
