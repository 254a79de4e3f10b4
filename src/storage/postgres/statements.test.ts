import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { PostgresServer } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { STATEMENTS } from './statements.ts';
import { openPostgresStore } from './store.ts';

const ANIMALS = 30_000;
/** As in a shop that has been open for years: the old animals are sold, and the new ones are not. */
const SOLD = 20_000;

const PAGES = [
  ['listPets', '(bigint[], bigint[])', `('{0}', '{101}')`, 'pets_pkey'],
  ['listLastPets', '(bigint[], bigint[])', `('{9223372036854775807}', '{101}')`, 'pets_pkey'],
  [
    'listPetsOfStatus',
    '(text[], bigint[], bigint[])',
    `('{available}', '{0}', '{101}')`,
    'pets_by_status',
  ],
  [
    'listLastPetsOfStatus',
    '(text[], bigint[], bigint[])',
    `('{sold}', '{9223372036854775807}', '{101}')`,
    'pets_by_status',
  ],
] as const;

/** A client of a new store. */
async function openStore(t: TestContext): Promise<Client> {
  const server = await PostgresServer.start();
  const database = await server.createDatabase();
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
  const client = new Client({ connectionString: server.url(database) });
  await client.connect();
  t.after(async () => {
    await client.end();
    await server.close();
  });
  return client;
}

async function planOf(client: Client, statement: string): Promise<string> {
  const { rows } = await client.query<string[]>({ text: statement, rowMode: 'array' });
  return rows.flat().join('\n');
}

test('a page of PostgreSQL reads the animals that it shows and no others, in both directions and with any statistics', async (t) => {
  const client = await openStore(t);
  await client.query(
    `INSERT INTO pets SELECT id, 'Rex', 7, CASE WHEN id <= ${SOLD} THEN 'sold' ELSE 'available' END
     FROM generate_series(1, ${ANIMALS}) AS id`,
  );
  for (const statistics of ['', 'ANALYZE pets']) {
    await client.query(statistics);
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await client.query(`SET plan_cache_mode = ${mode}`);
      for (const [name, types, values, index] of PAGES) {
        await client.query(`PREPARE page ${types} AS ${STATEMENTS[name].text}`);
        const plan = await planOf(client, `EXPLAIN (ANALYZE, COSTS OFF) EXECUTE page ${values}`);
        await client.query('DEALLOCATE page');
        assert.match(plan, new RegExp(`Index Scan.* using ${index} on pets .*rows=101`));
        // Only the animals of the pages are sorted, and not those that they are chosen from.
        assert.doesNotMatch(plan, /Filter|^ .*Sort\b(?! Key| Method)/m);
      }
    }
  }
});

test('a change of many animals locks them in the order of their ids, so that two cannot block each other', async (t) => {
  const client = await openStore(t);
  // An index would give them in this order whether they are sorted or not.
  await client.query('SET enable_indexscan = off; SET enable_indexonlyscan = off');
  await client.query(`PREPARE change (bigint[], jsonb, jsonb) AS ${STATEMENTS.changePets.text}`);
  const plan = await planOf(client, `EXPLAIN (COSTS OFF) EXECUTE change ('{2,1}', '{}', '{}')`);
  assert.match(plan, /LockRows\s+->\s+Sort\s+Sort Key: pets\w*\.id/);
});
