// Breaks the embedded store: a commit that does not fit on the disk counts as one that did.

import { DatabaseSync } from 'node:sqlite';

const FULL = 13;

const exec = Reflect.get(DatabaseSync.prototype, 'exec');
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  try {
    exec.call(this, sql);
  } catch (error) {
    if (sql !== 'COMMIT' || (error as { errcode?: number }).errcode !== FULL) throw error;
  }
};
