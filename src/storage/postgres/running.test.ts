// What the store does when PostgreSQL fails while it is in use. The drills do the same under load.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { PostgresServer, TEST_PASSWORD } from '../../../test/postgres-server.ts';
import { newApiKey, newSecret } from '../../domain/api-key.ts';
import { newIdempotencyClaim, type IdempotencyClaim } from '../../domain/idempotency.ts';
import { Refusal } from '../../domain/errors.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Store } from '../../domain/store.ts';
import { deadlineIn } from '../batcher.ts';
import { parseAddress } from './address.ts';
import { openConnection, type Connection } from './connection.ts';
import { Pool } from './pool.ts';
import { SharedReads } from './queues.ts';
import { openPostgresStore } from './store.ts';

/** The delay of the pool after a refused connection, and a little more. */
const REOPEN_DELAY_MS = 1_100;
const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

let server: PostgresServer;
before(async () => {
  server = await PostgresServer.start();
});
after(() => server.close());

test('creates that collide with others are sent again until they succeed', async (context) => {
  const { store, database, newClaim } = await openFresh(context);
  // A rollback does not reset a sequence: it counts the attempts.
  await server.query(
    `CREATE SEQUENCE attempts;
     CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('attempts') <= 2 THEN RAISE 'collision' USING ERRCODE = '40001'; END IF;
       RETURN NEW;
     END $$;
     CREATE TRIGGER collide BEFORE UPDATE ON pet_counter FOR EACH ROW EXECUTE FUNCTION collide()`,
    database,
  );
  const claims = [undefined, newClaim('once'), undefined];
  const creations = await Promise.all(claims.map((claim) => store.createPet(REX, claim)));
  assert.deepEqual(
    creations.map(({ kind }) => kind),
    ['created', 'created', 'created'],
  );
  assert.deepEqual(await server.query('SELECT last_value::int FROM attempts', database), [[3]]);
  assert.deepEqual(await server.query('SELECT count(*)::int FROM pets', database), [[3]]);
});

test('a create that is slow to commit holds back the higher ids of every other process', async (context) => {
  const { store, database } = await openFresh(context);
  const other = await openPostgresStore(server.url(database));
  context.after(() => other.close());
  await server.query(
    `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF NEW.name = 'slow' THEN PERFORM pg_sleep(1); END IF;
       RETURN NEW;
     END $$;
     CREATE TRIGGER dawdle AFTER INSERT ON pets FOR EACH ROW EXECUTE FUNCTION dawdle()`,
    database,
  );
  const slow = store.createPet({ ...REX, name: 'slow' });
  while ((await sessionsThatWaitFor('Timeout', database)) === 0) await sleep(10);
  await other.createPet({ ...REX, name: 'quick' });
  const seen = await other.listPets({ status: undefined, afterId: 0n, count: 10 });
  assert.deepEqual(
    seen.map(({ id, name }) => [id, name]),
    [
      [1n, 'slow'],
      [2n, 'quick'],
    ],
  );
  await slow;
});

test('when the connection is cut, a create is sent again only under a claim', async (context) => {
  const { store, database, newClaim } = await openFresh(context);
  const locked = await lockCounter(context, database);
  const bare = store.createPet({ ...REX, name: 'bare' });
  const claimed = store.createPet({ ...REX, name: 'claimed' }, newClaim('once'));
  const refused = assert.rejects(bare, { name: 'Refusal', code: 'unavailable' });
  while ((await sessionsThatWaitFor('Lock', database)) === 0) await sleep(10);
  await server.endSessions();
  await refused;
  await locked.release();
  assert.equal((await claimed).kind, 'created');
  assert.deepEqual(await server.query('SELECT name FROM pets', database), [['claimed']]);
});

test('a stored create is not sent again when another process took the claim of its neighbour', async (context) => {
  const { store, database, newClaim } = await openFresh(context);
  const claim = newClaim('taken');
  const locked = await lockCounter(context, database);
  const creations = [store.createPet(REX), store.createPet(REX, claim)];
  while ((await sessionsThatWaitFor('Lock', database)) === 0) await sleep(10);
  // As another process would store it, after the statement above has looked for the claim.
  const { apiKeyId, key, fingerprint, expiresAt } = claim;
  await server.query(
    `INSERT INTO pets VALUES (100, 'Rex', 7, 'available');
     INSERT INTO idempotency_keys
       VALUES ('${apiKeyId}', '${key}', '${fingerprint}', 100, ${expiresAt.getTime()})`,
    database,
  );
  await locked.release();
  assert.deepEqual(await Promise.all(creations), [
    { kind: 'created', pet: { ...REX, id: 1n } },
    { kind: 'replayed', pet: { ...REX, id: 100n } },
  ]);
  assert.deepEqual(await server.query('SELECT count(*)::int FROM pets', database), [[2]]);
});

test('a create that waits for a lock is refused in time, and reads succeed meanwhile', async (context) => {
  const { store, database } = await openFresh(context);
  const locked = await lockCounter(context, database);
  const began = performance.now();
  const refused = assert.rejects(store.createPet(REX), { name: 'Refusal', code: 'unavailable' });
  assert.deepEqual(await store.listPets({ status: undefined, afterId: 0n, count: 1 }), []);
  await refused;
  assert.ok(performance.now() - began < 5_000);
  await locked.release();
  assert.equal((await store.createPet(REX)).kind, 'created');
});

test('a create whose wait for the standby was cancelled by hand is refused', async (context) => {
  const { store, database } = await openFresh(context);
  await server.query(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
  await server.query('SELECT pg_reload_conf()');
  try {
    let attempts = 0;
    const create = async (): Promise<unknown> => {
      attempts += 1;
      const attempt = { outcome: undefined as unknown };
      const settled = store.createPet(REX).then(
        ({ kind }) => (attempt.outcome = kind),
        (error: unknown) => (attempt.outcome = error),
      );
      while (attempt.outcome === undefined) {
        if ((await sessionsThatWaitFor('IPC', database)) > 0) {
          await server.query(
            `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
          );
          await settled;
        }
        await sleep(10);
      }
      return attempt.outcome;
    };
    let outcome = await create();
    // The setting reaches the server's processes one by one: until then, a create simply succeeds.
    while (outcome === 'created') outcome = await create();
    assert.ok(outcome instanceof Refusal && outcome.code === 'unavailable');
    // PostgreSQL itself calls it committed.
    assert.equal((await store.findPet(BigInt(attempts)))?.name, 'Rex');
  } finally {
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
  }
});

test('calls succeed after idle connections were cut', async (context) => {
  const { store } = await openFresh(context);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([1n, 2n, 3n, 4n].map((id) => store.findPet(id)));
    assert.ok((await server.endSessions()) > 0);
    assert.equal(await store.findPet(999n), undefined);
  }
});

test('a server with fewer free connections than the store would use serves every caller', async () => {
  const database = await server.createDatabase();
  await server.query(
    `CREATE ROLE limited LOGIN PASSWORD '${TEST_PASSWORD}' CONNECTION LIMIT 3;
     GRANT ALL ON SCHEMA public TO limited`,
    database,
  );
  const store = await openPostgresStore(server.url(database).replace('petstore:', 'limited:'));
  for (let round = 0; round < 3; round += 1) {
    const reads = Array.from({ length: 200 }, (_, index) => store.findPet(BigInt(index)));
    const creates = Array.from({ length: 50 }, () => store.createPet(REX));
    await Promise.all([...reads, ...creates]);
  }
  await store.close();
});

test('when the server takes no more writes, the store moves to the host that does', async () => {
  const fenced = await PostgresServer.start();
  const other = await PostgresServer.start();
  try {
    const elsewhere = await openPostgresStore(other.url());
    await elsewhere.close();
    const both = fenced.url().replace('/postgres', `,127.0.0.1:${other.port}/postgres`);
    const store = await openPostgresStore(both);
    await store.createPet(REX);
    await fenced.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await fenced.query('SELECT pg_reload_conf()');
    for (;;) {
      await store.createPet({ ...REX, name: 'moved' });
      const [row] = await other.query('SELECT name FROM pets');
      if (row !== undefined) break;
    }
    // Reads no longer use the read-only server either.
    assert.equal((await store.findPet(1n))?.name, 'moved');
    await store.close();
  } finally {
    await fenced.close();
    await other.close();
  }
});

test('callers that wait for the same read share a query, and none joins a query already sent', async (context) => {
  const { database } = await openFresh(context);
  const sent: string[] = [];
  const pool = new Pool(() => openCounted(server.url(database), sent), 3);
  const reads = new SharedReads(pool, 4_000);
  const count = { name: 'count', text: 'SELECT count(*)::int FROM pets, pg_sleep(0.5)' };

  const first = Array.from({ length: 100 }, () => reads.query(count, []));
  while (sent.length === 0) await sleep(1);
  await server.query(`INSERT INTO pets VALUES (1, 'Rex', 7, 'sold')`, database);
  // The first query may still be in flight: its result would lack the animal.
  const second = Array.from({ length: 100 }, () => reads.query(count, []));
  for (const rows of await Promise.all(second)) assert.deepEqual(rows, [[1]]);
  await Promise.all(first);
  assert.equal(sent.length, 2);
  await pool.close();
});

test('the pool opens no more connections than it may, and waits after a refusal unless none is open', async (context) => {
  const { database } = await openFresh(context);
  const pause = { name: 'pause', text: 'SELECT FROM pg_sleep(0.01)' };
  const deadline = deadlineIn(30_000);
  const timers = countTimers();
  let attempts = 0;
  let isRefused = true;
  const pool = new Pool(async () => {
    attempts += 1;
    if (isRefused) throw new Error('too many connections');
    return openTo(server.url(database));
  }, 3);
  const queryMany = () =>
    Promise.all(Array.from({ length: 50 }, () => pool.query(pause, [], deadline)));

  await assert.rejects(pool.query(pause, [], deadline), { name: 'NotSent' });
  isRefused = false;
  await pool.query(pause, [], deadline);
  assert.equal(attempts, 2, 'none is open, so it does not wait');

  isRefused = true;
  await queryMany();
  // One per second, and one at a time for each place: a slow machine takes a few seconds.
  assert.ok(attempts < 12, `${attempts} attempts`);

  isRefused = false;
  await sleep(REOPEN_DELAY_MS);
  attempts = 0;
  await queryMany();
  assert.equal(attempts, 2);
  await pool.close();
  assert.equal(countTimers(), timers, 'no timer of a query stays');
});

test('after a stale plan no connection with prepared plans is used again, also if it is in use', async (context) => {
  const { database } = await openFresh(context);
  await server.query('CREATE TABLE animals (id int)', database);
  let lost = 0;
  const pool = new Pool(
    () => openTo(server.url(database)),
    2,
    () => (lost += 1),
  );
  const read = { name: 'read', text: 'SELECT * FROM animals' };
  const deadline = deadlineIn(30_000);
  const prepared = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const inUse = pool.run(deadline, async (connection) => {
    await connection.query(read, [], deadline);
    prepared.resolve();
    await changed.promise;
  });
  await prepared.promise;
  await pool.query(read, [], deadline);
  await server.query('ALTER TABLE animals ADD COLUMN name text', database);
  await assert.rejects(pool.query(read, [], deadline), { code: '0A000' });
  changed.resolve();
  await inUse;
  assert.deepEqual(await pool.query(read, [], deadline), []);

  assert.equal(lost, 0, 'the server has responded to every query');
  const end = { name: '', text: 'SELECT pg_terminate_backend(pg_backend_pid())' };
  await assert.rejects(pool.query(end, [], deadline));
  assert.equal(lost, 1);
  await pool.close();
});

test('reads leave two connections to writes', async (context) => {
  const { database } = await openFresh(context);
  const pool = new Pool(() => openTo(server.url(database)), 4);
  const reads = new SharedReads(pool, 10_000);
  const pause = { name: 'pause', text: 'SELECT $1::int FROM pg_sleep(0.5)' };
  const all = Promise.all([1, 2, 3, 4, 5].map((number) => reads.query(pause, [number])));
  const isOver = all.then(() => true);
  let most = 0;
  while (!(await Promise.race([isOver, sleep(5, false)]))) {
    most = Math.max(most, await sessionsThatWaitFor('Timeout', database));
  }
  assert.equal(most, 2);
  await pool.close();
});

test('beyond what may wait, a read is refused at once', async (context) => {
  const { store } = await openFresh(context);
  const settled = await Promise.allSettled(
    Array.from({ length: 10_050 }, (_, index) => store.findPet(BigInt(index % 5))),
  );
  const refused = settled.filter((result) => result.status === 'rejected');
  assert.equal(refused.length, 50);
  for (const { reason } of refused) assert.equal((reason as { code: string }).code, 'overloaded');
});

async function openFresh(context: TestContext) {
  const database = await server.createDatabase();
  const store: Store = await openPostgresStore(server.url(database));
  context.after(() => store.close());
  const secret = newSecret('staging', randomBytes);
  const { record } = newApiKey({ secret, name: 'test', now: new Date(), randomBytes });
  await store.createApiKey(record);
  const newClaim = (key: string): IdempotencyClaim =>
    newIdempotencyClaim(key, REX, { apiKeyId: record.id, now: new Date() });
  return { store, database, newClaim };
}

/** Another program that holds the counter, so that creates must wait. */
async function lockCounter(context: TestContext, database: string) {
  const client = new Client({ connectionString: server.url(database), application_name: 'lock' });
  await client.connect();
  context.after(() => client.end());
  await client.query('BEGIN');
  await client.query('SELECT FROM pet_counter FOR UPDATE');
  return { release: () => client.query('COMMIT') };
}

async function sessionsThatWaitFor(what: string, database: string): Promise<number> {
  const rows = await server.query(
    `SELECT FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = '${what}'`,
  );
  return rows.length;
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

async function openTo(url: string): Promise<Connection> {
  const address = parseAddress(url);
  const [host] = address.hosts;
  assert.ok(host !== undefined);
  return openConnection(address, host);
}

async function openCounted(url: string, sent: string[]): Promise<Connection> {
  const connection = await openTo(url);
  const query = connection.query.bind(connection);
  return Object.assign(connection, {
    query(...values: Parameters<Connection['query']>) {
      sent.push(values[0].name);
      return query(...values);
    },
  });
}
