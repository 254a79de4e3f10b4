// The control loads this file into the service, main thread and writer thread, before anything else. The service
// then asks SQLite for the weaker guarantee, and acknowledges creates that are not on the disk.

import { DatabaseSync } from 'node:sqlite';

// oxlint-disable-next-line typescript/unbound-method -- it is called with its object below
const { exec } = DatabaseSync.prototype;

DatabaseSync.prototype.exec = function execWithNormalSync(sql: string): void {
  exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'));
};
