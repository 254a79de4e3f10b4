import type { Connection, Row, Statement } from './connection.ts';
import { deadlineIn, timeLeftMs, type Deadline } from './deadline.ts';
import { faultOf, NotSent, overloaded } from './faults.ts';

/** Who may wait for a connection at once. Beyond it a caller hears `overloaded` immediately. */
const WAITING_MAX = 10_000;
/** After a refused connection, while others work, the next attempt waits this long. */
const REOPEN_DELAY_MS = 1_000;

interface Waiting {
  resolve: (connection: Connection) => void;
  reject: (reason: Error) => void;
  timer: NodeJS.Timeout;
}

/**
 * The connections of one process. Each is lent to one caller at a time, and one whose answer did not
 * come is never lent again.
 */
export class Pool {
  readonly connectionsMax: number;
  readonly #open: () => Promise<Connection>;
  readonly #onNoResponse: () => void;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Lent now, and not to be lent again. */
  readonly #retired = new WeakSet<Connection>();
  readonly #waiting = new Set<Waiting>();
  #opening = 0;
  #reopenAt: Deadline = 0;
  #isClosed = false;

  /** `onNoResponse` is called when a connection ended before the response to what was sent on it. */
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

  /** Lends a connection for several queries in a row, until the promise of `work` settles. */
  async run<Result>(
    deadline: Deadline,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const connection = await this.#acquire(deadline);
    try {
      return await work(connection);
    } catch (error) {
      this.#distrust(connection, error);
      throw error;
    } finally {
      this.#release(connection);
    }
  }

  /** Ends every connection now, those in use too: a response from a replaced server must reach nobody. */
  retireAll(): void {
    for (const connection of this.#all) {
      connection.destroy();
      this.#forget(connection);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectWaiting(new NotSent('the store is closed'));
    const closing = [...this.#all];
    this.#all.clear();
    await Promise.all(closing.map((connection) => connection.close()));
  }

  #acquire(deadline: Deadline): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(new NotSent('the store is closed'));
    const idle = this.#idle.pop();
    if (idle !== undefined) return Promise.resolve(idle);
    if (this.#waiting.size >= WAITING_MAX) return Promise.reject(overloaded('queries'));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(new NotSent('no connection in time'));
      }, timeLeftMs(deadline));
      const waiting = { resolve, reject, timer };
      this.#waiting.add(waiting);
      this.#openMore();
    });
  }

  #release(connection: Connection): void {
    if (!connection.isUsable() || this.#isClosed || this.#retired.has(connection)) {
      connection.destroy();
      this.#forget(connection);
      return;
    }
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#idle.push(connection);
      return;
    }
    this.#waiting.delete(next);
    clearTimeout(next.timer);
    next.resolve(connection);
  }

  /** Decides which connections an error has made worthless. */
  #distrust(connection: Connection, error: unknown): void {
    const fault = faultOf(error);
    if (fault !== 'unknown' && fault !== 'read_only' && fault !== 'stale_plan') return;
    connection.destroy();
    if (fault === 'unknown') this.#onNoResponse();
    // Those in use reach the same server, which would go on answering reads with what it knew; or have
    // prepared the same plans. Lent again, they could fail every attempt of one caller.
    if (fault !== 'unknown') for (const other of this.#all) this.#retired.add(other);
    // When one connection fell silent, was cut, or reached a server that takes no writes, the idle ones
    // are most likely no better: new ones find the server that works now.
    for (const idle of this.#idle.splice(0)) {
      idle.destroy();
      this.#forget(idle);
    }
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    if (this.#waiting.size > 0) this.#openMore();
  }

  #openMore(): void {
    const isFull = this.#all.size + this.#opening >= this.connectionsMax;
    const isWaitedFor = this.#opening < this.#waiting.size;
    if (isFull || !isWaitedFor || this.#isClosed) return;
    if (this.#all.size > 0 && timeLeftMs(this.#reopenAt) > 0) return;
    this.#opening += 1;
    this.#open().then(
      (connection) => this.#opened(connection),
      (error: unknown) => this.#notOpened(error),
    );
  }

  #opened(connection: Connection): void {
    this.#opening -= 1;
    if (this.#isClosed) {
      connection.destroy();
      return;
    }
    this.#all.add(connection);
    connection.onLost(() => this.#forget(connection));
    this.#release(connection);
  }

  /** Callers that others' connections will serve keep waiting; without any, they need not. */
  #notOpened(error: unknown): void {
    this.#opening -= 1;
    this.#reopenAt = deadlineIn(REOPEN_DELAY_MS);
    if (this.#all.size > 0) return;
    this.#rejectWaiting(new NotSent('the database cannot be reached', { cause: error }));
  }

  #rejectWaiting(reason: Error): void {
    for (const { reject, timer } of this.#waiting) {
      clearTimeout(timer);
      reject(reason);
    }
    this.#waiting.clear();
  }
}
