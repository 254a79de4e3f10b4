import type { RateLimit, TakePortion } from '../../domain/rate-limit.ts';
import { deadlineIn } from '../deadline.ts';
import type { Statement } from './connection.ts';
import { withRetries } from './errors.ts';
import type { Pool } from './pool.ts';

/** A portion is this part of what is left, rounded down, and at least one request: at most 5 % of the limit. */
const PORTIONS = 20;
/** Requests wait for a portion, so a database that does not respond is given up early. */
const TIMEOUT_MS = 1_000;
/** A process may have read the clock and then waited for the row. Only a clock that was set back differs more. */
const CLOCK_TOLERANCE_MS = 60_000;

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const portionOf = (left: string) =>
  `greatest(0, least(${left}, greatest(1, (${left}) / ${PORTIONS})))`;

/** $1: the key, $2: the requests of a window, $3: its milliseconds. */
const TAKE_PORTION: Statement = {
  name: 'take-portion',
  text: `
    INSERT INTO rate_limits AS known (api_key_id, ends_at, taken, portion)
    VALUES ($1, ${NOW_MS} + $3::bigint, ${portionOf('$2::bigint')}, ${portionOf('$2::bigint')})
    ON CONFLICT (api_key_id) DO UPDATE SET (ends_at, taken, portion) = (
      SELECT ends_at, taken + ${portionOf('$2::bigint - taken')}, ${portionOf('$2::bigint - taken')}
      FROM (
        SELECT CASE WHEN is_open THEN known.ends_at ELSE excluded.ends_at END AS ends_at,
               CASE WHEN is_open THEN known.taken ELSE 0 END AS taken
        FROM (SELECT known.ends_at > excluded.ends_at - $3::bigint
                 AND known.ends_at < excluded.ends_at + ${CLOCK_TOLERANCE_MS} AS is_open) AS state
      ) AS before)
    RETURNING portion, greatest(0, $2::bigint - taken), ends_at - ${NOW_MS}`,
};

/** One row per key counts for all processes, by the clock of the database. */
export function portionsInDatabase(
  { requests, windowSeconds }: RateLimit,
  pool: Pool,
): TakePortion {
  return async (keyId) => {
    const deadline = deadlineIn(TIMEOUT_MS);
    const values = [keyId, requests, windowSeconds * 1000];
    const [row] = await withRetries(() => pool.query(TAKE_PORTION, values, deadline));
    const [portion, left, endsInMs] = row as [bigint, bigint, bigint];
    return { requests: Number(portion), left: Number(left), endsInMs: Number(endsInMs) };
  };
}
