import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { storeContract } from '../store.contract.ts';
import { openSqliteStore } from './store.ts';

storeContract('SQLite', {
  hasVersion: true,
  async newSubject(context) {
    const folder = temporaryFolder(context);
    const file = join(folder, 'petstore.sqlite');
    let reader: DatabaseSync | undefined;
    context.after(() => reader?.close());
    return {
      open: async () => openSqliteStore(file),
      countCommits() {
        // An open read transaction prevents the store from emptying its log between two counts.
        if (reader === undefined) {
          reader = new DatabaseSync(file);
          reader.exec('BEGIN');
          reader.prepare('SELECT 1 FROM pets').get();
        }
        return countCommitsInLog(`${file}-wal`);
      },
      async countClaims() {
        using database = new DatabaseSync(file);
        return Number(database.prepare('SELECT count(*) AS n FROM idempotency_keys').get()?.['n']);
      },
    };
  },
});

const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_SIZE_OFFSET = 8;
const COMMIT_OFFSET = 4;

/** Counts the frames of the write-ahead log that end a transaction: SQLite marks each of them. */
async function countCommitsInLog(file: string): Promise<number> {
  const log = await readFile(file);
  if (log.length < LOG_HEADER_BYTES) return 0;
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(PAGE_SIZE_OFFSET);
  let commits = 0;
  for (let at = LOG_HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at + COMMIT_OFFSET) !== 0) commits += 1;
  }
  return commits;
}
