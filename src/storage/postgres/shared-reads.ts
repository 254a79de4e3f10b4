import { Refusal } from '../../domain/errors.ts';
import { gauge, type Figure } from '../../ops/metrics.ts';
import { deadlineIn, type Deadline } from '../deadline.ts';
import { type Row, type Statement } from './connection.ts';
import { isRepeatable, withRetries } from './errors.ts';
import type { Pool } from './pool.ts';

/** The most callers that wait. Any further caller is refused with `overloaded`. */
const WAITING_MAX = 10_000;
/** One for creates, one for writes of keys, imports and budgets. */
const CONNECTIONS_FOR_WRITES = 2;

interface WaitingRead {
  statement: Statement;
  values: unknown[];
  deadline: Deadline;
  callers: { resolve: (rows: Row[]) => void; reject: (reason: Error) => void }[];
}

/**
 * Callers that wait for the same read share one query. No caller joins a query that was already sent,
 * because it might not see what was stored in between.
 */
export class SharedReads {
  readonly #pool: Pool;
  readonly #callTimeoutMs: number;
  readonly #inFlightMax: number;
  readonly #waiting = new Map<string, WaitingRead>();
  #callersWaiting = 0;
  readonly #inFlight = new Set<Promise<void>>();
  #isScheduled = false;

  constructor(pool: Pool, callTimeoutMs: number) {
    this.#pool = pool;
    this.#callTimeoutMs = callTimeoutMs;
    this.#inFlightMax = Math.max(1, pool.connectionsMax - CONNECTIONS_FOR_WRITES);
  }

  query(statement: Statement, values: unknown[]): Promise<Row[]> {
    if (this.#callersWaiting >= WAITING_MAX) {
      const message = 'Too many reads are waiting; try again shortly.';
      return Promise.reject(new Refusal('overloaded', message));
    }
    return new Promise((resolve, reject) => {
      const name = [statement.name, ...values].join('\n');
      let read = this.#waiting.get(name);
      if (read === undefined) {
        const deadline = deadlineIn(this.#callTimeoutMs);
        read = { statement, values, deadline, callers: [] };
        this.#waiting.set(name, read);
      }
      read.callers.push({ resolve, reject });
      this.#callersWaiting += 1;
      this.#schedule();
    });
  }

  figures(): Figure[] {
    const help = 'Reads that wait for a connection.';
    return [gauge('petstore_reads_waiting', help, this.#callersWaiting)];
  }

  /** Resolves when everything that was accepted is settled. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0 || this.#inFlight.size > 0) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      await Promise.all(this.#inFlight);
    }
  }

  /** Reads of the same turn of the event loop are sent together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendWaiting();
    });
  }

  #sendWaiting(): void {
    for (const [name, read] of this.#waiting) {
      if (this.#inFlight.size >= this.#inFlightMax) return;
      this.#waiting.delete(name);
      this.#callersWaiting -= read.callers.length;
      const settled = this.#settle(read).finally(() => {
        this.#inFlight.delete(settled);
        this.#sendWaiting();
      });
      this.#inFlight.add(settled);
    }
  }

  /** Settles every caller; never throws. */
  async #settle({ statement, values, deadline, callers }: WaitingRead): Promise<void> {
    try {
      const rows = await withRetries(
        () => this.#pool.query(statement, values, deadline),
        // A read can be repeated also when the outcome of the first attempt is unknown.
        (fault) => fault === 'unknown' || isRepeatable(fault),
      );
      for (const { resolve } of callers) resolve(rows);
    } catch (error) {
      for (const { reject } of callers) reject(error as Error);
    }
  }
}
