// Breaks the embedded store: most creates are acknowledged before their commit. The next real commit includes
// them, so that only a process that is killed, or a reader in between, shows the difference.

import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const COMMIT_EVERY = 50;

const exec = Reflect.get(DatabaseSync.prototype, 'exec');
let commits = 0;
function execLate(this: DatabaseSync, sql: string): void {
  if (sql === 'COMMIT') {
    commits += 1;
    // The first write creates the key of the drill.
    if (commits % COMMIT_EVERY !== 1) return;
  }
  if (sql === 'ROLLBACK' || (sql.startsWith('BEGIN') && this.isTransaction)) return;
  exec.call(this, sql);
}

// Writes run in the writer thread. The main thread migrates the schema, which must work.
if (!isMainThread) DatabaseSync.prototype.exec = execLate;
