// Makes the embedded store slow: each create takes a millisecond of the writer thread, without using a core.

import { DatabaseSync, StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const CREATE_MS = 1;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const prepare = Reflect.get(DatabaseSync.prototype, 'prepare');
const get = Reflect.get(StatementSync.prototype, 'get');

function prepareSlow(this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql);
  if (!sql.startsWith('INSERT INTO pets')) return statement;
  return Object.assign(statement, {
    get(...values: unknown[]): unknown {
      Atomics.wait(never, 0, 0, CREATE_MS);
      return Reflect.apply(get, statement, values);
    },
  });
}

if (!isMainThread) DatabaseSync.prototype.prepare = prepareSlow;
