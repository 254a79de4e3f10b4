// Breaks the embedded store: most creates are acknowledged before their commit. The next real commit includes
// them, so that only a process that is killed, or a reader in between, shows the difference.

import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const COMMIT_EVERY = 10;
/** The first writes create the key of the drill. */
const FIRST_COMMITS = 5;

const exec = Reflect.get(DatabaseSync.prototype, 'exec');
let commits = 0;
function execLate(this: DatabaseSync, sql: string): void {
  if (sql === 'COMMIT') {
    commits += 1;
    if (commits > FIRST_COMMITS && commits % COMMIT_EVERY !== 0) return;
  }
  if (sql === 'ROLLBACK' || (sql.startsWith('BEGIN') && this.isTransaction)) return;
  exec.call(this, sql);
}

// Writes run in the writer thread. The main thread migrates the schema, which must work.
if (!isMainThread) DatabaseSync.prototype.exec = execLate;
