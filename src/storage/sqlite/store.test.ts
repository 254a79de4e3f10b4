import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { INT64_MAX } from '../../domain/int64.ts';
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
      open: async () => openSqliteStore(file, NEW_STORE),
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

const tim = (id: number | null) => `INTO pets VALUES (${id}, 'Tim', 1, 'sold')`;

test('the version shows every change by hand through another process, and that others only add animals', async (t) => {
  const file = join(temporaryFolder(t), 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  t.after(() => store.close());
  const rex = { name: 'Rex', categoryId: 7n, status: 'available' } as const;
  await store.importPets([rex, rex, rex]);
  using other = new DatabaseSync(file);
  for (const [sql, hasChanged] of [
    [`INSERT ${tim(null)}`, false],
    [`INSERT ${tim(20)}`, false],
    [`INSERT ${tim(10)}`, true],
    [`INSERT ${tim(-1)}`, true],
    [`REPLACE ${tim(20)}`, true],
    ["INSERT INTO pets VALUES (10, 'Tom', 1, 'sold') ON CONFLICT DO UPDATE SET name = 'Tom'", true],
    ['UPDATE pets SET id = 15 WHERE id = 10', true],
    ['DELETE FROM pets WHERE id = 20', true],
    [`INSERT ${tim(20)}`, true],
    [`INSERT ${tim(null)}`, false],
    ['DELETE FROM pets', true],
    [`INSERT ${tim(null)}`, false],
  ] as const) {
    const before = store.version?.();
    other.exec(sql);
    const after = store.version?.();
    assert.notEqual(before?.commits, after?.commits, sql);
    assert.equal(before?.changes !== after?.changes, hasChanged, sql);
  }
});

test('an animal by hand that leaves no ids is named, and not called a full disk', async (t) => {
  const file = join(temporaryFolder(t), 'petstore.sqlite');
  const store = openSqliteStore(file, NEW_STORE);
  t.after(() => store.close());
  const rex = { name: 'Rex', categoryId: 7n, status: 'available' } as const;
  await store.createPet(rex);
  {
    using database = new DatabaseSync(file);
    database.exec(`INSERT INTO pets VALUES (${INT64_MAX}, 'by hand', 1, 'sold')`);
  }
  await assert.rejects(store.createPet(rex), ({ message, cause }: Error) => {
    assert.equal(message, 'The store cannot take new animals or changes at the moment.');
    return String(cause).includes(`no ids are left after ${INT64_MAX}, which was inserted by hand`);
  });
  const page = await readFile(new URL('../../../docs/troubleshooting.md', import.meta.url), 'utf8');
  const [, remedy = ''] = /petstore\.sqlite "(DELETE FROM pets [^"]+)"/.exec(page) ?? [];
  {
    using database = new DatabaseSync(file);
    database.exec(remedy);
  }
  assert.deepEqual(await store.createPet(rex), { kind: 'created', pet: { ...rex, id: 2n } });
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
