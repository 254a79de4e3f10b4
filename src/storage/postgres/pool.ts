import { gauge, type Figure } from '../../ops/metrics.ts';
import { atDeadline, deadlineIn, timeLeftMs, type Deadline } from '../deadline.ts';
import { type Connection, type Row, type Statement } from './connection.ts';
import { faultOf, NotSent } from './errors.ts';

/** After a refused connection, while others work, the next attempt waits this long. */
const REOPEN_DELAY_MS = 1_000;

/** A retired connection is in use, and is closed after that. */
type ConnectionState = 'idle' | 'used' | 'retired';

/**
 * The connections of one process. Each is used by one caller at a time, and is not used again after a query
 * without a response.
 *
 * The number of waiting callers needs no limit here, because the callers are limited: one batch of creates,
 * the queries of SharedReads, one portion per key with requests in flight, and writes of keys and imports, one
 * after the other.
 */
export class Pool {
  readonly connectionsMax: number;
  readonly #open: () => Promise<Connection>;
  readonly #onNoResponse: () => void;
  readonly #connections = new Map<Connection, ConnectionState>();
  readonly #waiting = new Set<PromiseWithResolvers<Connection>>();
  #opening = 0;
  #reopenAt: Deadline = 0;
  #isClosed = false;

  /** `onNoResponse` is called when a connection ended before the response to a query. */
  constructor(
    open: () => Promise<Connection>,
    connectionsMax: number,
    onNoResponse: () => void = () => undefined,
  ) {
    this.#open = open;
    this.connectionsMax = connectionsMax;
    this.#onNoResponse = onNoResponse;
  }

  query(statement: Statement, values: unknown[], deadline: Deadline): Promise<Row[]> {
    return this.run(deadline, (connection) => connection.query(statement, values, deadline));
  }

  /** Reserves a connection for several queries, until the promise of `work` settles. */
  async run<Result>(
    deadline: Deadline,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const connection = await this.#acquire(deadline);
    try {
      return await work(connection);
    } catch (error) {
      this.#retireAfter(error, connection);
      throw error;
    } finally {
      this.#release(connection);
    }
  }

  figures(): Figure[] {
    const idle = this.#idle().length;
    const used = this.#connections.size - idle;
    const byLabel = Object.entries({ used, idle, opening: this.#opening });
    const states = { label: 'state', byLabel };
    return [
      gauge('petstore_pool_connections', 'Connections to PostgreSQL, by state.', states),
      gauge('petstore_pool_connections_max', 'The most connections.', this.connectionsMax),
      gauge('petstore_pool_waiting', 'Queries without a connection.', this.#waiting.size),
    ];
  }

  /** Ends every connection now, also during a query: a response from a replaced server must reach no caller. */
  destroyAll(): void {
    for (const connection of this.#connections.keys()) connection.destroy();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectWaiting(new NotSent('the store is closed'));
    await Promise.all([...this.#connections.keys()].map((connection) => connection.close()));
  }

  async #acquire(deadline: Deadline): Promise<Connection> {
    if (this.#isClosed) throw new NotSent('the store is closed');
    for (const [connection, state] of this.#connections) {
      if (state !== 'idle') continue;
      if (connection.isUsable()) {
        this.#connections.set(connection, 'used');
        return connection;
      }
      this.#connections.delete(connection);
    }
    const caller = Promise.withResolvers<Connection>();
    const cancel = atDeadline(deadline, () => {
      this.#waiting.delete(caller);
      caller.reject(new NotSent('no connection in time'));
    });
    this.#waiting.add(caller);
    void this.#openMore();
    try {
      return await caller.promise;
    } finally {
      cancel();
    }
  }

  #release(connection: Connection): void {
    const isRetired = this.#connections.get(connection) === 'retired';
    if (!connection.isUsable() || this.#isClosed || isRetired) {
      connection.destroy();
      this.#connections.delete(connection);
      void this.#openMore();
      return;
    }
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#connections.set(connection, 'idle');
      return;
    }
    this.#waiting.delete(next);
    next.resolve(connection);
  }

  /** Replaces the connections that an error has shown to be useless. */
  #retireAfter(error: unknown, connection: Connection): void {
    const fault = faultOf(error);
    if (fault !== 'unknown' && fault !== 'stale_session') return;
    connection.destroy();
    // The idle ones most likely reach the same server as a lost one. Those in use show it themselves.
    for (const idle of this.#idle()) {
      idle.destroy();
      this.#connections.delete(idle);
    }
    if (fault === 'unknown') return this.#onNoResponse();
    // All connections reach the same read-only server, or have prepared the same plans. A caller that got
    // another of them could fail at every attempt, or read what the server no longer updates.
    for (const used of this.#connections.keys()) this.#connections.set(used, 'retired');
  }

  #idle(): Connection[] {
    const all = [...this.#connections.keys()];
    return all.filter((connection) => this.#connections.get(connection) === 'idle');
  }

  async #openMore(): Promise<void> {
    const isFull = this.#connections.size + this.#opening >= this.connectionsMax;
    if (isFull || this.#opening >= this.#waiting.size || this.#isClosed) return;
    if (this.#connections.size > 0 && timeLeftMs(this.#reopenAt) > 0) return;
    this.#opening += 1;
    try {
      const connection = await this.#open().finally(() => (this.#opening -= 1));
      this.#connections.set(connection, 'used');
      this.#release(connection);
    } catch (cause) {
      this.#reopenAt = deadlineIn(REOPEN_DELAY_MS);
      // Callers continue to wait while a connection is open or being opened.
      if (this.#connections.size + this.#opening > 0) return;
      this.#rejectWaiting(new NotSent('the database cannot be reached', { cause }));
    }
  }

  #rejectWaiting(reason: Error): void {
    for (const { reject } of this.#waiting) reject(reason);
    this.#waiting.clear();
  }
}
