import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { openPostgresStore } from '../postgres/store.ts';
import { verifyPostgres } from './postgres-verify.ts';

test('a sound catalogue has no problems, and a rule that is broken is named', async (context) => {
  const server = await PostgresServer.start();
  context.after(() => server.close());
  const store = await openPostgresStore(server.url(), NEW_STORE);
  await store.createPet({ name: 'Rex', categoryId: 7n, status: 'available' });
  await store.createPet({ name: 'Ada', categoryId: 7n, status: 'sold' });
  await store.close();
  const sound = { animals: 2, lastId: 2n, problems: [], warnings: [] };
  assert.deepEqual(await verifyPostgres(server.url()), sound);

  await server.query('UPDATE pet_counter SET last_id = 1');
  const { problems } = await verifyPostgres(server.url());
  assert.equal(problems.length, 1);
  assert.match(String(problems[0]), /^animals with an id that was never assigned: 1 /);

  await server.query('REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC');
  await server.query(`CREATE ROLE rows LOGIN PASSWORD '${TEST_PASSWORD}' IN ROLE pg_read_all_data`);
  await assert.rejects(verifyPostgres(server.url().replace('petstore:', 'rows:')), {
    name: 'StoreUnusable',
    message:
      'permission denied to create temporary tables in database "postgres": grant the right as docs/postgresql.md shows.',
  });
});
