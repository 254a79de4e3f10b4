// Makes the embedded store slow: each create takes 2 ms of the writer thread, without using a core.

import { DatabaseSync, StatementSync, type StatementResultingChanges } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const CREATE_MS = 2;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const exec = Reflect.get(DatabaseSync.prototype, 'exec');
const run = Reflect.get(StatementSync.prototype, 'run');
let creates = 0;

/** One wait per commit: many short ones would take longer than their sum. */
function execSlowly(this: DatabaseSync, sql: string): void {
  if (sql === 'COMMIT') {
    Atomics.wait(never, 0, 0, creates * CREATE_MS);
    creates = 0;
  }
  exec.call(this, sql);
}

function runAndCount(this: StatementSync, ...values: unknown[]): StatementResultingChanges {
  const result = Reflect.apply(run, this, values) as StatementResultingChanges;
  if (this.sourceSQL.startsWith('INSERT INTO pets')) creates += Number(result.changes);
  return result;
}

// Writes run in the writer thread.
if (!isMainThread) {
  DatabaseSync.prototype.exec = execSlowly;
  Object.assign(StatementSync.prototype, { run: runAndCount });
}
