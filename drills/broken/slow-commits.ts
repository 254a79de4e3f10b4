// Makes each commit of the embedded store take a while, so that a process is killed between the acknowledgement and
// the commit if the first comes before the second. It breaks nothing.

import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const COMMIT_MS = 20;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const exec = Reflect.get(DatabaseSync.prototype, 'exec');
function execSlowly(this: DatabaseSync, sql: string): void {
  if (sql === 'COMMIT') Atomics.wait(never, 0, 0, COMMIT_MS);
  exec.call(this, sql);
}

// Writes run in the writer thread.
if (!isMainThread) DatabaseSync.prototype.exec = execSlowly;
