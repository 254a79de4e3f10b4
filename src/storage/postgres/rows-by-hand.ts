// An animal that somebody has inserted by hand can have the id that the counter assigns next.

import type { Deadline } from '../deadline.ts';
import { LAST_ID_MAX } from '../rows.ts';
import { cannotTake } from '../unavailable.ts';
import type { Row, Statement } from './connection.ts';
import { isIdTaken, withRetriesOfWrite } from './errors.ts';
import type { Past } from './past.ts';
import type { Pool } from './pool.ts';
import { STATEMENTS } from './statements.ts';

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
      withRetriesOfWrite(() =>
        pool.run(deadline, (connection) => past.sendCreate(connection, create, deadline)),
      );
    try {
      return await send();
    } catch (error) {
      if (!isIdTaken(error)) throw error;
      const raise = () => pool.query(STATEMENTS.raiseCounter, [LAST_ID_MAX], deadline);
      const [row] = await withRetriesOfWrite(raise);
      const [highest, raised] = row as [bigint, bigint | null];
      if (raised === null) {
        const line = `the animal ${highest}, inserted by hand, leaves fewer than a million ids: remove it`;
        throw cannotTake(new Error(line, { cause: error }));
      }
      onWarning(`animals were inserted by hand: the next id is above ${raised}`);
      return send();
    }
  };
}
