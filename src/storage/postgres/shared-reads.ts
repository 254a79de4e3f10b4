import { Refusal } from '../../domain/errors.ts';
import { gauge, type Figure } from '../../ops/metrics.ts';
import { CALL_TIMEOUT_MS, deadlineIn, type Deadline } from '../deadline.ts';
import { type Row, type Statement } from './connection.ts';
import { isRepeatable, withRetries } from './errors.ts';
import type { Pool } from './pool.ts';

/** The most callers that wait. Any further caller is refused with `overloaded`. */
const WAITING_MAX = 10_000;
/** One for creates, one for portions of rate limits and writes of keys and imports. */
const CONNECTIONS_FOR_WRITES = 2;
/** The most searches of one query: enough to share a round trip, and the others go to other connections. */
const SEARCHES_MAX = 32;

interface WaitingRead extends PromiseWithResolvers<Row[]> {
  statement: Statement;
  values: unknown[];
  isSearch: boolean;
  deadline: Deadline;
  callers: number;
  byKey?: ReadonlyMap<unknown, Row>;
}

/**
 * Callers that wait for the same read, or for one row each, share it, and different searches by one statement share
 * a query. No caller joins a query that was already sent, because it might not see what was stored in between.
 */
export class SharedReads {
  readonly #pool: Pick<Pool, 'query'>;
  readonly #inFlightMax: number;
  readonly #waiting = new Map<string, WaitingRead>();
  #callersWaiting = 0;
  #inFlight = 0;

  constructor(pool: Pick<Pool, 'query' | 'connectionsMax'>) {
    this.#pool = pool;
    this.#inFlightMax = Math.max(1, pool.connectionsMax - CONNECTIONS_FOR_WRITES);
  }

  query(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#join(nameOf(statement, values), statement, values).promise;
  }

  /** Returns the row that begins with a key. The statement takes the keys of all callers. */
  async find(statement: Statement, key: unknown): Promise<Row | undefined> {
    const read = this.#join(statement.name, statement, [[]]);
    (read.values[0] as unknown[]).push(key);
    const rows = await read.promise;
    read.byKey ??= new Map(rows.map((row) => [row[0], row]));
    return read.byKey.get(key);
  }

  /**
   * For a statement that makes many searches. Each of its parameters is an array with a value of each search, and
   * each of its rows ends with the place of its search, from 1.
   */
  search(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#join(nameOf(statement, values), statement, values, true).promise;
  }

  figures(): Figure[] {
    const help = 'Reads that wait for a connection.';
    return [gauge('petstore_reads_waiting', help, this.#callersWaiting)];
  }

  #join(name: string, statement: Statement, values: unknown[], isSearch = false): WaitingRead {
    if (this.#callersWaiting >= WAITING_MAX) {
      throw new Refusal('overloaded', 'Too many reads are waiting; try again shortly.');
    }
    // Reads of the same turn of the event loop are sent together. Where others wait already, the turn of
    // the first has not ended, or the end of a query sends the next ones.
    if (this.#waiting.size === 0) setImmediate(() => this.#sendWaiting());
    const read = this.#waiting.getOrInsertComputed(name, () => {
      const deadline = deadlineIn(CALL_TIMEOUT_MS);
      const waiting = { statement, values, isSearch, deadline, callers: 0 };
      return Object.assign(waiting, Promise.withResolvers<Row[]>());
    });
    read.callers += 1;
    this.#callersWaiting += 1;
    return read;
  }

  #sendWaiting(): void {
    for (const first of this.#waiting.values()) {
      if (this.#inFlight >= this.#inFlightMax) return;
      const taken: WaitingRead[] = [];
      for (const [name, read] of this.#waiting) {
        if (read !== first && !(first.isSearch && read.statement === first.statement)) continue;
        this.#waiting.delete(name);
        this.#callersWaiting -= read.callers;
        if (taken.push(read) === SEARCHES_MAX) break;
      }
      void this.#send(first, taken);
    }
  }

  async #send({ statement, values, isSearch, deadline }: WaitingRead, taken: WaitingRead[]) {
    const sent = isSearch ? values.map((_, at) => taken.map((read) => read.values[at])) : values;
    this.#inFlight += 1;
    try {
      const rows = await withRetries(
        () => this.#pool.query(statement, sent, deadline),
        // A read can be repeated also when the outcome of the first attempt is unknown.
        (fault) => fault === 'unknown' || isRepeatable(fault),
      );
      const found: Row[][] = isSearch ? taken.map(() => []) : [rows];
      if (isSearch) for (const row of rows) found[(row.at(-1) as number) - 1]?.push(row);
      taken.forEach(({ resolve }, index) => resolve(found[index] ?? []));
    } catch (error) {
      for (const { reject } of taken) reject(error);
    }
    this.#inFlight -= 1;
    this.#sendWaiting();
  }
}

function nameOf({ name }: Statement, values: unknown[]): string {
  return [name, ...values].join('\n');
}
