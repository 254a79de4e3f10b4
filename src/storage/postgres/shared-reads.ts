import type { Row, Statement } from './connection.ts';
import { deadlineIn, type Deadline } from './deadline.ts';
import { faultOf, isRepeatable, overloaded, unavailable } from './faults.ts';
import type { Pool } from './pool.ts';

/** Who may wait to read at once. Beyond it a caller hears `overloaded` immediately. */
const WAITING_MAX = 10_000;
const ATTEMPTS_MAX = 3;
/** Connections that reads leave to writes. */
const CONNECTIONS_LEFT = 2;

interface Question {
  statement: Statement;
  values: unknown[];
  deadline: Deadline;
  callers: { resolve: (rows: Row[]) => void; reject: (reason: Error) => void }[];
}

/**
 * Callers that wait with the same question share one query. It is sent after the last of them has
 * asked, and nobody joins a query that was sent: it might not see what was stored in between.
 */
export class SharedReads {
  readonly #pool: Pool;
  readonly #callTimeoutMs: number;
  readonly #inFlightMax: number;
  readonly #waiting = new Map<string, Question>();
  #callersWaiting = 0;
  #inFlight = new Set<Promise<void>>();
  #isScheduled = false;

  constructor(pool: Pool, callTimeoutMs: number) {
    this.#pool = pool;
    this.#callTimeoutMs = callTimeoutMs;
    this.#inFlightMax = Math.max(1, pool.connectionsMax - CONNECTIONS_LEFT);
  }

  ask(statement: Statement, values: unknown[]): Promise<Row[]> {
    if (this.#callersWaiting >= WAITING_MAX) return Promise.reject(overloaded('reads'));
    return new Promise((resolve, reject) => {
      const name = [statement.name, ...values].join('\n');
      let question = this.#waiting.get(name);
      if (question === undefined) {
        const deadline = deadlineIn(this.#callTimeoutMs);
        question = { statement, values, deadline, callers: [] };
        this.#waiting.set(name, question);
      }
      question.callers.push({ resolve, reject });
      this.#callersWaiting += 1;
      this.#schedule();
    });
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

  /** Whoever asks in the same turn of the event loop still gets in. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendWaiting();
    });
  }

  #sendWaiting(): void {
    for (const [name, question] of this.#waiting) {
      if (this.#inFlight.size >= this.#inFlightMax) return;
      this.#waiting.delete(name);
      this.#callersWaiting -= question.callers.length;
      const answered = this.#answer(question).finally(() => {
        this.#inFlight.delete(answered);
        this.#sendWaiting();
      });
      this.#inFlight.add(answered);
    }
  }

  async #answer({ statement, values, deadline, callers }: Question): Promise<void> {
    try {
      const rows = await this.#query(statement, values, deadline);
      for (const { resolve } of callers) resolve(rows);
    } catch (error) {
      for (const { reject } of callers) reject(unavailable(error));
    }
  }

  async #query(statement: Statement, values: unknown[], deadline: Deadline): Promise<Row[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#pool.query(statement, values, deadline);
      } catch (error) {
        const fault = faultOf(error);
        // Reading twice does no harm, so that a cut connection is no reason to give up.
        const mayHelp = fault === 'unknown' || isRepeatable(fault);
        if (!mayHelp || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }
}
