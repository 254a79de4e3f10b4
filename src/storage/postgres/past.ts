import { counter, type Figure, type Measured } from '../../ops/metrics.ts';
import { deadlineIn } from '../deadline.ts';
import type { Connection } from './connection.ts';
import { NotSent } from './errors.ts';
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

/** The message follows the name of the host. */
class PastLost extends NotSent {
  override name = 'PastLost';
}

/**
 * What this process knows of its store: the highest value of the counter that it was given or has read, and the id
 * of the store. A failover manager can promote a server without the last commits, and a database can be swapped
 * under a running service. Both would assign ids a second time, so neither is served.
 *
 * Ids in rows do not count: one that was inserted by hand may be above the counter.
 */
export class Past implements Measured {
  readonly #onRefused: (message: string) => void;
  /** Undefined until the store was opened: before, there is nothing to compare with. */
  #lastId: bigint | undefined;
  #storeId: string | null = null;
  /**
   * Databases that were refused, with the reason. They stay refused: another process, which remembers less, may
   * assign the lost ids again, and then the counter shows nothing.
   */
  readonly #refused = new Map<string, string>();
  #refusals = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onRefused` is called once for each database that is refused. */
  constructor(onRefused: (message: string) => void = () => undefined) {
    this.#onRefused = onRefused;
  }

  /** Takes the store of this connection for the right one. */
  async begin(connection: Connection): Promise<void> {
    this.#lastId = 0n;
    await this.require(connection);
  }

  /** Called with every value of the counter that a commit of this process has returned. */
  remember(lastId: bigint): void {
    if (this.#lastId === undefined || lastId > this.#lastId) this.#lastId = lastId;
  }

  /** Throws if the server has lost what this process knew before it asked. */
  async require(connection: Connection): Promise<void> {
    const known = this.#lastId;
    if (known === undefined) return;
    const deadline = deadlineIn(READ_TIMEOUT_MS);
    const [row = []] = await connection.query(READ_PAST, [], deadline);
    const [lastId = 0n, storeId = null, database = ''] = row as PastRow | [];
    const reason = this.#refused.get(database) ?? this.#lossIn(known, lastId, storeId);
    if (reason === undefined) {
      this.#storeId = storeId;
      return this.remember(lastId);
    }
    this.#refusals += 1;
    if (!this.#refused.has(database)) {
      this.#refused.set(database, reason);
      const { host, port } = connection.client;
      this.#onRefused(`${host}:${port} ${reason}`);
    }
    throw new PastLost(reason);
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
        .catch((error: unknown) => error instanceof PastLost && pool.destroyAll());
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

  #lossIn(known: bigint, lastId: bigint, storeId: string | null): string | undefined {
    const remedy = 'docs/operations/postgresql.md says what to do';
    if (this.#storeId !== null && storeId !== this.#storeId) {
      return `is another store: its id is ${storeId}, and this process has served ${this.#storeId}; ${remedy}`;
    }
    if (lastId >= known) return undefined;
    return `has lost animals: its last id is ${lastId}, and ${known} was assigned; ${remedy}`;
  }
}
