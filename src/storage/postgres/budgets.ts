// The rate limit of all processes: each takes portions of what is left to a key, by the clock of the database.

import type { Budgets, Portion, RateLimit, UnusedPortion } from '../../domain/store.ts';
import { Batcher, type Pending } from '../batcher.ts';
import { deadlineIn, type Deadline } from '../deadline.ts';
import type { Statement } from './connection.ts';
import { faultOf, isRepeatable, unavailable, withRetries } from './errors.ts';
import type { Pool } from './pool.ts';

/** Reads wait for a portion, so a database that does not respond is given up early. */
const TIMEOUT_MS = 1_000;
const WAITING_MAX = 10_000;
const BATCH_KEYS_MAX = 500;
/** A portion is this part of what is left, so that unused portions are a small part of the limit. */
const PORTIONS = 20;
/** A process may have read the clock and then waited for the row. Only a clock that was set back differs more. */
const CLOCK_TOLERANCE_MS = 60_000;

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const portionOf = (left: string) => `(greatest(0, ${left}) + ${PORTIONS - 1}) / ${PORTIONS}`;

/** $1: the keys, $2: the requests of a window, $3: its milliseconds. In the order of the keys: no deadlocks. */
const TAKE_PORTIONS: Statement = {
  name: 'take-portions',
  text: `
    INSERT INTO rate_limits AS known (api_key_id, ends_at, taken, portion)
    SELECT key_id, ${NOW_MS} + $3::bigint, ${portionOf('$2::bigint')}, ${portionOf('$2::bigint')}
    FROM unnest($1::text[]) AS key_id ORDER BY key_id
    ON CONFLICT (api_key_id) DO UPDATE SET (ends_at, taken, portion) = (
      SELECT ends_at, taken + ${portionOf('$2::bigint - taken')}, ${portionOf('$2::bigint - taken')}
      FROM (
        SELECT CASE WHEN is_open THEN known.ends_at ELSE excluded.ends_at END AS ends_at,
               CASE WHEN is_open THEN known.taken ELSE 0 END AS taken
        FROM (SELECT known.ends_at > excluded.ends_at - $3::bigint
                 AND known.ends_at < excluded.ends_at + ${CLOCK_TOLERANCE_MS} AS is_open) AS state
      ) AS before)
    RETURNING api_key_id, portion, greatest(0, $2::bigint - taken), ends_at, ends_at - ${NOW_MS}`,
};

/** $1: the keys, $2: their unused requests, $3: their windows, $4: the requests of a window. Also in that order. */
const GIVE_BACK_PORTIONS: Statement = {
  name: 'give-back-portions',
  text: `
    WITH locked AS (
      SELECT api_key_id, unused
      FROM rate_limits JOIN unnest($1::text[], $2::bigint[], $3::bigint[]) AS given (key_id, unused, window_ends_at)
        ON api_key_id = key_id AND ends_at = window_ends_at
      ORDER BY api_key_id FOR UPDATE OF rate_limits)
    UPDATE rate_limits AS known SET taken = taken - unused
    FROM locked WHERE known.api_key_id = locked.api_key_id
    RETURNING known.api_key_id, greatest(0, $4::bigint - taken)`,
};

interface PortionRequest {
  keyId: string;
  limit: RateLimit;
}

export class PostgresBudgets implements Budgets {
  readonly #pool: Pool;
  readonly #batcher: Batcher<PortionRequest, Portion>;

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#batcher = new Batcher({
      what: 'requests',
      waitingMax: WAITING_MAX,
      batchMax: BATCH_KEYS_MAX,
      timeoutMs: TIMEOUT_MS,
      sendTimeMinMs: 0,
      send: (batch, deadline) => this.#takeAll(batch, deadline),
      isItemError: () => false,
      isRepeatable: (error) => isRepeatable(faultOf(error)),
      refusal: unavailable,
    });
  }

  take(keyId: string, limit: RateLimit): Promise<Portion> {
    return this.#batcher.add({ keyId, limit });
  }

  async giveBack(unused: readonly UnusedPortion[], limit: RateLimit): Promise<Map<string, number>> {
    const values = [
      unused.map(({ keyId }) => keyId),
      unused.map(({ requests }) => requests),
      unused.map(({ window }) => window),
      limit.requests,
    ];
    const deadline = deadlineIn(TIMEOUT_MS);
    const rows = await withRetries(
      () => this.#pool.query(GIVE_BACK_PORTIONS, values, deadline),
      isRepeatable,
    );
    return new Map(rows.map(([keyId, left]) => [String(keyId), Number(left)]));
  }

  close(): Promise<void> {
    return this.#batcher.close();
  }

  /** A key occurs once: a process takes a portion only after its last one has arrived. */
  async #takeAll(
    batch: Pending<PortionRequest, Portion>[],
    deadline: Deadline,
  ): Promise<Pending<PortionRequest, Portion>[]> {
    const byKey = new Map(batch.map((pending) => [pending.item.keyId, pending]));
    const { requests = 0, windowSeconds = 0 } = batch[0]?.item.limit ?? {};
    const values = [[...byKey.keys()], requests, windowSeconds * 1000];
    const rows = await this.#pool.query(TAKE_PORTIONS, values, deadline);
    for (const [keyId, ...numbers] of rows as [string, ...bigint[]][]) {
      const [portion, left, window = 0n, endsInMs] = numbers;
      byKey.get(keyId)?.resolve({
        requests: Number(portion),
        left: Number(left),
        window,
        endsInMs: Number(endsInMs),
      });
    }
    return [];
  }
}
