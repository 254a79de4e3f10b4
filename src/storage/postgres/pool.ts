import { gauge, type Figure } from '../../ops/metrics.ts';
import { atDeadline, deadlineIn, timeLeftMs, type Deadline } from '../deadline.ts';
import { type Connection, type Row, type Statement } from './connection.ts';
import { faultOf, NotSent, type Fault } from './errors.ts';

/** After a refused connection, while others work, the next attempt waits this long. */
const REOPEN_DELAY_MS = 1_000;

interface WaitingCaller {
  resolve: (connection: Connection) => void;
  reject: (reason: Error) => void;
  cancel: () => void;
}

/**
 * The connections of one process. Each is used by one caller at a time, and is not used again after a query
 * without a response.
 *
 * The number of waiting callers needs no limit here, because the callers are limited: one batch of creates,
 * the queries of SharedReads, one batch of budgets, and writes of keys and imports, one after the other.
 */
export class Pool {
  readonly connectionsMax: number;
  readonly #open: () => Promise<Connection>;
  readonly #onNoResponse: () => void;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Closed as soon as nobody uses them. */
  readonly #retired = new WeakSet<Connection>();
  readonly #waiting = new Set<WaitingCaller>();
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
      this.#retire(connection, faultOf(error));
      throw error;
    } finally {
      this.#release(connection);
    }
  }

  figures(): Figure[] {
    const { size } = this.#all;
    const idle = this.#idle.length;
    const byLabel = Object.entries({ used: size - idle, idle, opening: this.#opening });
    const states = { label: 'state', byLabel };
    return [
      gauge('petstore_pool_connections', 'Connections to PostgreSQL, by state.', states),
      gauge('petstore_pool_connections_max', 'The most connections.', this.connectionsMax),
      gauge('petstore_pool_waiting', 'Queries without a connection.', this.#waiting.size),
    ];
  }

  /** Ends every connection now, also during a query: a response from a replaced server must reach no caller. */
  destroyAll(): void {
    for (const connection of this.#all) connection.destroy();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectWaiting(new NotSent('the store is closed'));
    await Promise.all([...this.#all].map((connection) => connection.close()));
  }

  async #acquire(deadline: Deadline): Promise<Connection> {
    if (this.#isClosed) throw new NotSent('the store is closed');
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable()) return idle;
      this.#all.delete(idle);
    }
    return new Promise((resolve, reject) => {
      const cancel = atDeadline(deadline, () => {
        this.#waiting.delete(caller);
        reject(new NotSent('no connection in time'));
      });
      const caller = { resolve, reject, cancel };
      this.#waiting.add(caller);
      this.#openMore();
    });
  }

  #release(connection: Connection): void {
    if (!connection.isUsable() || this.#isClosed || this.#retired.has(connection)) {
      connection.destroy();
      this.#all.delete(connection);
      this.#openMore();
      return;
    }
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#idle.push(connection);
      return;
    }
    this.#waiting.delete(next);
    next.cancel();
    next.resolve(connection);
  }

  /** Replaces the connections that a fault has made useless. */
  #retire(connection: Connection, fault: Fault): void {
    if (fault !== 'unknown' && fault !== 'read_only' && fault !== 'stale_plan') return;
    connection.destroy();
    if (fault === 'unknown') this.#onNoResponse();
    // All connections reach the same read-only server, or have prepared the same plans. A caller that got
    // another of them could fail at every attempt, or read what the server no longer updates.
    else for (const other of this.#all) this.#retired.add(other);
    // The idle ones most likely reach the same server as a lost one. Those in use show it themselves.
    for (const idle of this.#idle.splice(0)) {
      idle.destroy();
      this.#all.delete(idle);
    }
  }

  #openMore(): void {
    const isFull = this.#all.size + this.#opening >= this.connectionsMax;
    if (isFull || this.#opening >= this.#waiting.size || this.#isClosed) return;
    if (this.#all.size > 0 && timeLeftMs(this.#reopenAt) > 0) return;
    this.#opening += 1;
    this.#open().then(
      (connection) => this.#opened(connection),
      (error: unknown) => this.#notOpened(error),
    );
  }

  #opened(connection: Connection): void {
    this.#opening -= 1;
    this.#all.add(connection);
    this.#release(connection);
  }

  /** Callers continue to wait while a connection is open or being opened. */
  #notOpened(error: unknown): void {
    this.#opening -= 1;
    this.#reopenAt = deadlineIn(REOPEN_DELAY_MS);
    if (this.#all.size + this.#opening > 0) return;
    this.#rejectWaiting(new NotSent('the database cannot be reached', { cause: error }));
  }

  #rejectWaiting(reason: Error): void {
    for (const { reject, cancel } of this.#waiting) {
      cancel();
      reject(reason);
    }
    this.#waiting.clear();
  }
}
