// Makes the embedded store slow: each create takes a millisecond of the writer thread, without using a core.

import { DatabaseSync, StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const CREATE_MS = 1;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const exec = Reflect.get(DatabaseSync.prototype, 'exec');
const get = Reflect.get(StatementSync.prototype, 'get');
let creates = 0;

/** One wait per commit: many short ones would take longer than their sum. */
function execSlowly(this: DatabaseSync, sql: string): void {
  if (sql === 'COMMIT') {
    Atomics.wait(never, 0, 0, creates * CREATE_MS);
    creates = 0;
  }
  exec.call(this, sql);
}

function getAndCount(this: StatementSync, ...values: unknown[]): unknown {
  if (this.sourceSQL.startsWith('INSERT INTO pets')) creates += 1;
  return Reflect.apply(get, this, values);
}

// Writes run in the writer thread.
if (!isMainThread) {
  DatabaseSync.prototype.exec = execSlowly;
  Object.assign(StatementSync.prototype, { get: getAndCount });
}
