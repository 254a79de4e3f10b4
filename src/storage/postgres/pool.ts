import { setTimeout as sleep } from 'node:timers/promises';
import { Pool as DriverPool, type Client, type ClientBase, type PoolClient } from 'pg';
import { gauge, type Figure } from '../../ops/metrics.ts';
import { atDeadline, deadlineIn, timeLeftMs, type Deadline } from '../deadline.ts';
import type { Host } from './address.ts';
import {
  clientOptions,
  Connection,
  prepareSession,
  type Row,
  type Statement,
} from './connection.ts';
import { faultOf, isFull, NotSent, WrongServer } from './errors.ts';
import type { Hosts } from './hosts.ts';

/** After a refused connection, no more than the open ones are used for this long. */
const REOPEN_DELAY_MS = 1_000;
const RETRY_DELAY_MS = 50;
const CLOSE_TIMEOUT_MS = 1_000;
const CLOSE_POLL_MS = 10;

interface Reserved {
  pool: DriverPool;
  client: PoolClient;
  connection: Connection;
}

/**
 * The connections of one process to the current host. Each is used by one caller at a time, and is not used again
 * after a query without a response.
 *
 * The number of waiting callers needs no limit here, because the callers are limited: one batch of creates,
 * the queries of SharedReads, one portion per key with requests in flight, and writes of keys and imports, one
 * after the other.
 */
export class Pool {
  readonly connectionsMax: number;
  readonly #hosts: Hosts;
  readonly #onConnect: (connection: Connection) => Promise<void>;
  /** Every connection, also of pools that were replaced. */
  readonly #connections = new Map<ClientBase, Connection>();
  /** That of the driver. It is replaced when its connections are of no more use. */
  #pool: DriverPool | undefined;
  #closing: Promise<void> | undefined;

  /** `onConnect` is called with every connection before it is used. */
  constructor(
    hosts: Hosts,
    connectionsMax: number,
    onConnect: (connection: Connection) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#hosts = hosts;
    this.connectionsMax = connectionsMax;
    this.#onConnect = onConnect;
  }

  query(statement: Statement, values: unknown[], deadline: Deadline): Promise<Row[]> {
    return this.run(deadline, (connection) => connection.query(statement, values, deadline));
  }

  /** Reserves a connection for several queries, until the promise of `work` settles. */
  async run<Result>(
    deadline: Deadline,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const { pool, client, connection } = await this.#reserve(deadline);
    try {
      return await work(connection);
    } catch (error) {
      const fault = faultOf(error);
      if (error instanceof WrongServer) this.destroyAll();
      if (fault === 'unknown' || fault === 'stale_session') this.#replace(pool);
      if (fault === 'unknown') void this.#hosts.ask();
      throw error;
    } finally {
      client.release(!connection.isUsable());
    }
  }

  figures(): Figure[] {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#pool ?? {};
    const byLabel = Object.entries({ used: totalCount - idleCount, idle: idleCount });
    const states = { label: 'state', byLabel };
    return [
      gauge('petstore_pool_connections', 'Connections to PostgreSQL, by state.', states),
      gauge('petstore_pool_connections_max', 'The most connections.', this.connectionsMax),
      gauge('petstore_pool_waiting', 'Queries without a connection.', waitingCount),
    ];
  }

  /** Ends every connection now, also during a query: a response from a replaced server must reach no caller. */
  destroyAll(): void {
    this.#pool = undefined;
    for (const connection of this.#connections.values()) connection.destroy();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#pool?.end();
    const deadline = deadlineIn(CLOSE_TIMEOUT_MS);
    while (this.#connections.size > 0 && timeLeftMs(deadline) > 0) await sleep(CLOSE_POLL_MS);
    this.destroyAll();
  }

  async #reserve(deadline: Deadline): Promise<Reserved> {
    if (this.#closing) throw new NotSent('the store is closed');
    const reserving = this.#hosts.reach((host) => this.#connect(host, deadline));
    const late = Promise.withResolvers<never>();
    const cancel = atDeadline(deadline, () => {
      late.reject(new NotSent('no connection in time'));
      reserving.then(
        ({ client }) => client.release(),
        () => undefined,
      );
    });
    try {
      return await Promise.race([reserving, late.promise]);
    } finally {
      cancel();
    }
  }

  async #connect(host: Host, deadline: Deadline): Promise<Reserved> {
    while (host === this.#hosts.current) {
      const pool = (this.#pool ??= this.#newPool(host));
      try {
        const client = await pool.connect();
        const connection = this.#connections.get(client);
        if (connection?.isUsable()) return { pool, client, connection };
        client.release(true);
      } catch (error) {
        if (error instanceof WrongServer) {
          this.destroyAll();
          throw error;
        }
        if (pool !== this.#pool) continue;
        // Where others are open or being opened, one of them becomes free.
        const isHopeless = pool.totalCount === 0 || timeLeftMs(deadline) === 0;
        if (isHopeless || !isFull(error)) throw error;
        this.#useOnlyOpen(pool);
        await sleep(RETRY_DELAY_MS);
      }
    }
    throw new NotSent('was replaced by another host');
  }

  #newPool(host: Host): DriverPool {
    const pool: DriverPool = new DriverPool({
      ...clientOptions(this.#hosts.address, host),
      max: this.connectionsMax,
      idleTimeoutMillis: 0,
      // It may return a promise, which the types of the driver do not say.
      onConnect: (client): unknown => this.#prepare(client as Client, pool),
    });
    // Without a listener, an error on an idle connection would end the process.
    pool.on('error', () => undefined);
    return pool;
  }

  async #prepare(client: Client, pool: DriverPool): Promise<void> {
    const connection = new Connection(client);
    this.#connections.set(client, connection);
    client.once('end', () => this.#connections.delete(client));
    await prepareSession(connection);
    await this.#onConnect(connection);
    if (pool !== this.#pool) throw new NotSent('was replaced by another host');
  }

  /**
   * Uses new connections from now on. The others most likely reach the same lost or read-only server, or have
   * prepared the same plans. Those in use are closed after that.
   */
  #replace(pool: DriverPool): void {
    if (pool !== this.#pool) return;
    this.#pool = undefined;
    void pool.end();
  }

  /** The server refuses more connections: for a while, callers wait for those that are open. */
  #useOnlyOpen({ options }: DriverPool): void {
    // Of a pool that was replaced, some may be open too.
    options.max = Math.min(this.connectionsMax, Math.max(1, this.#connections.size));
    setTimeout(() => (options.max = this.connectionsMax), REOPEN_DELAY_MS).unref();
  }
}
