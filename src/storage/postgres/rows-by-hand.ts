// An animal that somebody has inserted by hand can have the id that the counter assigns next.

import type { Refusal } from '../../domain/errors.ts';
import { INT64_MAX } from '../../domain/int64.ts';
import type { Deadline } from '../deadline.ts';
import { cannotTake } from '../unavailable.ts';
import type { Row, Statement } from './connection.ts';
import { isIdTaken, withRetries } from './errors.ts';
import type { Past } from './past.ts';
import type { Pool } from './pool.ts';
import { STATEMENTS } from './statements.ts';

/** Fewer ids than this are not left behind an animal of somebody's own. */
const IDS_LEFT_MIN = 1_000_000n;

export type SendCreate = (
  statement: Statement,
  values: unknown[],
  deadline: Deadline,
) => Promise<Row[]>;

/** Sends creates. Where their ids are taken, it raises the counter above them, and sends the creates again. */
export function newSendCreate(
  pool: Pool,
  past: Past,
  onWarning: (message: string) => void,
): SendCreate {
  return async (statement, values, deadline) => {
    const create = { statement, values };
    const send = () =>
      withRetries(() =>
        pool.run(deadline, (connection) => past.sendCreate(connection, create, deadline)),
      );
    try {
      return await send();
    } catch (error) {
      if (!isIdTaken(error)) throw error;
      const idMax = INT64_MAX - IDS_LEFT_MIN;
      const raise = () => pool.query(STATEMENTS.raiseCounter, [idMax], deadline);
      const [row] = await withRetries(raise);
      if (row === undefined) throw noIdsLeft(error, onWarning);
      onWarning(`animals were inserted by hand: the next id is above ${String(row[0])}`);
      return send();
    }
  };
}

function noIdsLeft(cause: unknown, onWarning: (message: string) => void): Refusal {
  onWarning(
    'an animal that was inserted by hand has one of the last million ids: remove it (SELECT max(id) FROM pets)',
  );
  return cannotTake(cause);
}
