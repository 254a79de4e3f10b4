// What happens behind PgBouncer, in each of its modes.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { listPets } from '../../../harness/list-pets.ts';
import { PGBOUNCER_MISSING, startPgBouncer } from '../../../harness/pgbouncer.ts';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { newApiKey, newSecret } from '../../domain/api-key.ts';
import { newIdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet } from '../../domain/pet.ts';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { openPostgresStore } from './store.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
const needsPgBouncer = { skip: PGBOUNCER_MISSING };

const server = await PostgresServer.start();
after(() => server.close());

for (const settings of [
  { pool_mode: 'transaction' },
  // Several idle sessions, given out in turn.
  { pool_mode: 'transaction', min_pool_size: '5', server_round_robin: '1' },
  { pool_mode: 'transaction', default_pool_size: '1' },
  { pool_mode: 'statement' },
]) {
  test(
    `PgBouncer with ${JSON.stringify(settings)} is refused at the start, with a line that names pool_mode = session`,
    needsPgBouncer,
    async (context) => {
      const pooler = await startPgBouncer(server, settings);
      context.after(() => pooler.close());
      assert.match(await refusalOf(pooler.url()), /share sessions.*pool_mode = session/);
    },
  );
}

test(
  'PgBouncer in transaction mode is refused also while others use its sessions',
  needsPgBouncer,
  async (context) => {
    const pooler = await startPgBouncer(server, { pool_mode: 'transaction' });
    context.after(() => pooler.close());
    const others = await Promise.all(Array.from({ length: 8 }, () => connectTo(pooler.url())));
    const load = { isOver: false };
    const busy = others.map(async (client) => {
      while (!load.isOver) await client.query('SELECT pg_sleep(random() * 0.01)');
      await client.end();
    });
    try {
      assert.match(await refusalOf(pooler.url()), /pool_mode = session/);
    } finally {
      load.isOver = true;
      await Promise.all(busy);
    }
  },
);

test(
  'behind PgBouncer in session mode everything works, and every session keeps its settings',
  needsPgBouncer,
  async (context) => {
    const pooler = await startPgBouncer(server, { pool_mode: 'session', default_pool_size: '20' });
    context.after(() => pooler.close());
    const database = await server.createDatabase();
    await server.query(`ALTER DATABASE ${database} SET synchronous_commit = off`);
    const store = await openPostgresStore(pooler.url(database), NEW_STORE);
    await server.query(
      `CREATE TABLE seen (synchronous_commit text, statement_timeout text);
     CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO seen VALUES (current_setting('synchronous_commit'),
                                current_setting('statement_timeout'));
       RETURN NEW;
     END $$;
     CREATE TRIGGER note AFTER INSERT ON pets FOR EACH ROW EXECUTE FUNCTION note()`,
      database,
    );
    const secret = newSecret('staging', randomBytes);
    const record = newApiKey({ secret, name: 'test', now: new Date(), randomBytes });
    assert.equal(await store.createFirstApiKey(record), true);
    const claim = newIdempotencyClaim('once', REX, { apiKeyId: record.id, now: new Date() });
    assert.equal((await store.createPet(REX, claim)).kind, 'created');
    assert.equal((await store.createPet(REX, claim)).kind, 'replayed');
    const calls = Array.from({ length: 60 }, async (_, index) => {
      const { kind } = await store.createPet({ ...REX, name: `pet ${index}` });
      assert.equal(kind, 'created');
      const id = BigInt(index + 1);
      assert.equal((await store.findPet(id))?.id, id);
      await listPets(store, { status: 'available', afterId: BigInt(index), count: 5 });
    });
    await Promise.all(calls);
    const seen = await server.query('SELECT DISTINCT * FROM seen', database);
    assert.deepEqual(seen, [['on', '3s']]);
    await store.close();
  },
);

test(
  'a server or pooler without a free connection is named as that',
  needsPgBouncer,
  async (context) => {
    const full = await startPgBouncer(server, { pool_mode: 'session', default_pool_size: '1' });
    context.after(() => full.close());
    await hold(context, full.url());
    assert.match(await refusalOf(full.url()), /gives no response in time.*default_pool_size/);

    const impatient = { pool_mode: 'session', default_pool_size: '1', query_wait_timeout: '1' };
    const quick = await startPgBouncer(server, impatient);
    context.after(() => quick.close());
    await hold(context, quick.url());
    assert.match(await refusalOf(quick.url()), /no free connection \(query_wait_timeout\)/);

    const closed = await startPgBouncer(server, { pool_mode: 'session', max_client_conn: '1' });
    context.after(() => closed.close());
    await hold(context, closed.url());
    assert.match(await refusalOf(closed.url()), /no free connection .*max_client_conn/);
  },
);

test('a PostgreSQL without a free connection is named as that', async () => {
  await server.query(`CREATE ROLE crowded LOGIN PASSWORD '${TEST_PASSWORD}' CONNECTION LIMIT 0`);
  const message = await refusalOf(server.url().replace('petstore:', 'crowded:'));
  assert.match(message, /has no free connection \(too many connections for role.*max_connections/);
});

async function refusalOf(url: string): Promise<string> {
  try {
    const store = await openPostgresStore(url, NEW_STORE);
    await store.close();
  } catch (error) {
    assert.ok(error instanceof StoreUnusable || error instanceof Refusal, String(error));
    assert.ok(!error.message.includes('\n'), error.message);
    assert.ok(!error.message.includes('does not respond as PostgreSQL does'), error.message);
    return error.message;
  }
  return assert.fail('it was opened');
}

async function connectTo(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Another program that keeps the only session there is. */
async function hold(context: TestContext, url: string): Promise<void> {
  let client: Client | undefined;
  // The connection that found PgBouncer listening may still count.
  while (client === undefined) client = await connectTo(url).catch(() => undefined);
  const held = client;
  context.after(() => held.end());
  await held.query('SELECT 1');
}
