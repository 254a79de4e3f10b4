import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { PET_COUNT_SQL } from '../pet-count.ts';
import { rowsOf } from './query.ts';
import { prepareReads, prepareWrites } from './statements.ts';
import { openSqliteStore } from './store.ts';

const PAGES = {
  page: 'SEARCH pets USING INTEGER PRIMARY KEY (rowid>?)',
  pageBefore: 'SEARCH pets USING INTEGER PRIMARY KEY (rowid<?)',
  pageOfStatus: 'SEARCH pets USING pets_by_status (status=? AND id>?)',
  pageBeforeOfStatus: 'SEARCH pets USING pets_by_status (status=? AND id<?)',
} as const;

test('a page of SQLite is two searches of one index, in both directions and with any statistics', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'petstore.sqlite');
  await openSqliteStore(file, NEW_STORE).close();
  const database = new DatabaseSync(file, { returnArrays: true });
  t.after(() => database.close());
  // The old animals are sold, and the new ones are not.
  database.exec(
    `WITH RECURSIVE counter (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM counter WHERE id < 3000)
     INSERT INTO pets SELECT id, 'Rex', 7, iif(id <= 2000, 'sold', 'available') FROM counter`,
  );
  for (const statistics of ['', 'ANALYZE']) {
    database.exec(statistics);
    const reads = prepareReads(database);
    for (const [name, plan] of Object.entries(PAGES)) {
      const { sourceSQL } = reads[name as keyof typeof PAGES];
      const steps = rowsOf<unknown[]>(database, `EXPLAIN QUERY PLAN ${sourceSQL}`);
      const searches = steps
        .map((step) => String(step.at(-1)).replace(/(?:COVERING )?INDEX /, ''))
        .filter((step) => / pets\b/.test(step));
      // The second one finds out whether there is another page.
      assert.deepEqual(searches, [plan, plan], name);
    }
  }
});

test('no write reads all animals or all claims', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'petstore.sqlite');
  await openSqliteStore(file, NEW_STORE).close();
  const database = new DatabaseSync(file, { returnArrays: true });
  t.after(() => database.close());
  const preparing = t.mock.method(database, 'prepare');
  prepareWrites(database);
  const prepared = preparing.mock.calls.map(({ arguments: [sql] }) => sql);
  for (const sql of prepared) {
    const steps = rowsOf<unknown[]>(database, `EXPLAIN QUERY PLAN ${sql}`);
    for (const step of steps) assert.doesNotMatch(String(step.at(-1)), /SCAN (pets|idem)/, sql);
  }
});

test('up to 100,000 animals are counted; of more, the ids that may be in use are', (t) => {
  const database = new DatabaseSync(':memory:', { returnArrays: true });
  t.after(() => database.close());
  database.exec(`CREATE TABLE pets (id INTEGER PRIMARY KEY);
    WITH RECURSIVE counter (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM counter WHERE id < 100002)
    INSERT INTO pets SELECT id FROM counter WHERE id <> 7`);
  const count = () => rowsOf<[bigint]>(database, PET_COUNT_SQL)[0]?.[0];
  assert.equal(Number(count()), 100_002);
  database.exec('DELETE FROM pets WHERE id = 8');
  assert.equal(Number(count()), 100_000);
  database.exec('DELETE FROM pets');
  assert.equal(Number(count()), 0);
});
