// What the store does when PostgreSQL fails while it is in use. The drills do the same under load.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { needs } from '../../../harness/needs.ts';
import { listPets } from '../../../harness/list-pets.ts';
import { openFresh, REX } from '../../../harness/fresh-store.ts';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { until } from '../../../harness/until.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { Refusal } from '../../domain/errors.ts';
import { deadlineIn } from '../deadline.ts';
import { parseAddress } from './address.ts';
import { Hosts, openFirst } from './hosts.ts';
import { Pool } from './pool.ts';
import { SharedReads } from './shared-reads.ts';
import { openPostgresStore } from './store.ts';

const server = await PostgresServer.start();
after(() => server.close());

test('creates that collide with others are sent again until they succeed', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
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

const created = (id: bigint) => ({ kind: 'created', pet: { ...REX, id } });

test('animals that were inserted by hand do not stop creates: the counter is raised above them once', async (context) => {
  const { store, database, newClaim, warnings } = await openFresh(context, server);
  await store.createPet(REX);
  const insert = `INSERT INTO pets SELECT max(id) + 1, 'by hand', 1, 'sold' FROM pets`;
  for (const sql of [insert, insert]) await server.query(sql, database);
  assert.deepEqual(await store.createPet(REX), created(4n));
  await server.query(insert, database);
  assert.deepEqual(await store.createPet(REX, newClaim('once')), created(6n));
  await server.query(insert, database);
  assert.equal(await store.importPets([REX, REX]), true);
  assert.deepEqual(await store.createPet(REX), created(10n));
  assert.deepEqual(
    warnings,
    [3, 5, 7].map((id) => `animals were inserted by hand: the next id is above ${id}`),
  );
});

test('an animal by hand that leaves fewer than a million ids is named, and no create is stored', async (context) => {
  const highest = 2n ** 63n - 1n - 1_000_000n;
  for (const id of [highest, highest + 1n]) {
    const { store, database, warnings } = await openFresh(context, server);
    await server.query(`UPDATE pet_counter SET last_id = ${id - 1n}`, database);
    await server.query(`INSERT INTO pets VALUES (${id}, 'by hand', 1, 'sold')`, database);
    if (id === highest) {
      assert.deepEqual(await store.createPet(REX), created(id + 1n));
      continue;
    }
    await assert.rejects(store.createPet(REX), (error: Error) => {
      assert.equal(error.message, 'The store cannot take new animals or changes at the moment.');
      const line = `the animal ${id}, inserted by hand, leaves fewer than a million ids: remove it`;
      return error.cause instanceof Error && error.cause.message === line;
    });
    // A line for each create would fill the log.
    assert.deepEqual(warnings, []);
    assert.deepEqual(await server.query('SELECT count(*)::int FROM pets', database), [[1]]);
  }
});

test('an index by hand that refuses a create is not taken for an animal by hand', async (context) => {
  const { store, database, warnings } = await openFresh(context, server);
  await server.query('CREATE UNIQUE INDEX mine ON pets (name)', database);
  await store.createPet(REX);
  await assert.rejects(store.createPet(REX), ({ cause }: Error) => /"mine"/.test(String(cause)));
  assert.deepEqual(warnings, []);
});

test('a create that is slow to commit holds back the higher ids of every other process', async (context) => {
  const { store, database } = await openFresh(context, server);
  const other = await openPostgresStore(server.url(database), NEW_STORE);
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
  const seen = await listPets(other, { status: undefined, afterId: 0n, count: 10 });
  assert.deepEqual(
    seen.map(({ id, name }) => [id, name]),
    [
      [1n, 'slow'],
      [2n, 'quick'],
    ],
  );
  await slow;
});

test('when the connection is cut, a create is refused and not sent again', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
  const locked = await lockCounter(context, database);
  const claims = [undefined, newClaim('once')];
  const creations = Promise.allSettled(claims.map((claim) => store.createPet(REX, claim)));
  while ((await sessionsThatWaitFor('Lock', database)) === 0) await sleep(10);
  await server.endSessions();
  for (const creation of await creations) {
    assert.ok(creation.status === 'rejected' && creation.reason instanceof Refusal);
    assert.equal(creation.reason.code, 'unavailable');
  }
  await locked.release();
  assert.deepEqual(await server.query('SELECT name FROM pets', database), []);
  assert.equal((await store.createPet(REX, newClaim('once'))).kind, 'created');
});

test('a create whose session ends while it is carried out is sent once', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
  // A rollback does not reset a sequence: it counts the attempts.
  await server.query(
    `CREATE SEQUENCE attempts;
     CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       PERFORM nextval('attempts'), pg_terminate_backend(pg_backend_pid());
       RETURN NEW;
     END $$;
     CREATE TRIGGER end_session BEFORE UPDATE ON pet_counter
       FOR EACH ROW EXECUTE FUNCTION end_session()`,
    database,
  );
  for (const [index, claim] of [undefined, newClaim('once')].entries()) {
    await assert.rejects(store.createPet(REX, claim), { code: 'unavailable' });
    const attempts = await server.query('SELECT last_value::int FROM attempts', database);
    assert.deepEqual(attempts, [[index + 1]]);
  }
});

test('a read succeeds whose session the server ends as idle at that moment', async (context) => {
  let isHeld = false;
  let held = 0;
  // Passes the end of an idle session on only when the next statement is sent.
  const relay = createServer((client) => {
    const session = connect(server.port, '127.0.0.1');
    for (const socket of [client, session]) socket.on('error', () => session.destroy());
    const ends: Buffer[] = [];
    session.on('data', (chunk: Buffer) => (isHeld ? ends.push(chunk) : client.write(chunk)));
    session.on('end', () => (ends.length > 0 ? (held += 1) : client.end()));
    client.on('data', (chunk: Buffer) => {
      isHeld &&= ends.length === 0;
      if (ends.length > 0) client.end(Buffer.concat(ends));
      else session.write(chunk);
    });
    client.on('end', () => session.end());
  });
  const pool = new Pool(new Hosts(await addressOf(context, relay)), 1);
  context.after(() => pool.close());
  const reads = new SharedReads(pool);
  const one = { name: 'one', text: 'SELECT 1' };
  await pool.query({ name: '', text: "SET idle_session_timeout = '500ms'" }, [], deadlineIn(4_000));
  isHeld = true;
  await until('the server ends the session', () => held > 0);
  assert.deepEqual(await reads.query(one, []), [[1]]);
});

test('a stored create is not sent again when another process took the claim of its neighbour', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
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
  const { store, database } = await openFresh(context, server);
  const locked = await lockCounter(context, database);
  const began = performance.now();
  const refused = assert.rejects(store.createPet(REX), { name: 'Refusal', code: 'unavailable' });
  assert.deepEqual(await listPets(store, { status: undefined, afterId: 0n, count: 1 }), []);
  await refused;
  assert.ok(performance.now() - began < 5_000);
  await locked.release();
  assert.equal((await store.createPet(REX)).kind, 'created');
});

test('a session that is ended while it is opened is opened again', async (context) => {
  const database = await server.createDatabase();
  const [[version] = []] = await server.query('SHOW server_version_num');
  const missing = needs('login triggers, of PostgreSQL 17', Number(version) >= 170_000);
  if (missing !== false) return context.skip(missing);
  await server.query(
    `CREATE SEQUENCE logins;
     CREATE FUNCTION end_first() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
       IF current_setting('application_name') = 'petstore' AND nextval('logins') = 1 THEN
         PERFORM pg_terminate_backend(pg_backend_pid());
       END IF;
     END $$;
     CREATE EVENT TRIGGER end_first ON login EXECUTE FUNCTION end_first()`,
    database,
  );
  const address = parseAddress(server.url(database));
  const hosts = new Hosts(address);
  context.after(() => hosts.close());
  const connection = await openFirst(hosts);
  await connection.close();
  const [[logins] = []] = await server.query('SELECT last_value::int FROM logins', database);
  assert.ok(Number(logins) > 1);
});

test('a session that is ended before its first statement is opened again', async (context) => {
  const readyForQuery = Buffer.from('Z\0\0\0\x05I');
  let sessions = 0;
  // Passes on that the first session is ready together with its end.
  const relay = createServer((client) => {
    sessions += 1;
    const isFirst = sessions === 1;
    const held: Buffer[] = [];
    const session = connect(server.port, '127.0.0.1');
    client.pipe(session);
    for (const socket of [client, session]) socket.on('error', () => session.destroy());
    session.on('data', (chunk: Buffer) => {
      if (!isFirst || (held.length === 0 && !chunk.includes(readyForQuery))) client.write(chunk);
      else if (held.push(chunk) === 1) void server.endSessions();
    });
    session.on('end', () => client.end(Buffer.concat(held)));
  });
  const hosts = new Hosts(await addressOf(context, relay));
  context.after(() => hosts.close());
  const connection = await openFirst(hosts);
  await connection.close();
  assert.ok(sessions > 1);
});

test('calls succeed after idle connections were cut', async (context) => {
  const { store } = await openFresh(context, server);
  for (let round = 0; round < 3; round += 1) {
    // Different reads, which share no connection.
    await Promise.all([1, 2, 3, 4].map((number) => store.findImport(`file ${number}`)));
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
  const store = await openPostgresStore(
    server.url(database).replace('petstore:', 'limited:'),
    NEW_STORE,
  );
  for (let round = 0; round < 3; round += 1) {
    const reads = Array.from({ length: 60 }, (_, index) => store.findImport(`file ${index}`));
    const creates = Array.from({ length: 20 }, () => store.createPet(REX));
    await Promise.all([...reads, ...creates]);
  }
  await store.close();
});

test('when the server takes no more writes, the store moves to the host that does', async () => {
  const fenced = await PostgresServer.start();
  const other = await PostgresServer.start();
  try {
    const elsewhere = await openPostgresStore(other.url(), NEW_STORE);
    await elsewhere.close();
    // It has lost nothing that the other one has assigned.
    await other.query('UPDATE pet_counter SET last_id = 1000000');
    const both = fenced.url().replace('/postgres', `,127.0.0.1:${other.port}/postgres`);
    const store = await openPostgresStore(both, NEW_STORE);
    await store.createPet(REX);
    await fenced.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await fenced.query('SELECT pg_reload_conf()');
    for (;;) {
      await store.createPet({ ...REX, name: 'moved' });
      const [row] = await other.query('SELECT name FROM pets');
      if (row !== undefined) break;
    }
    // Reads no longer use the read-only server either.
    assert.equal((await store.findPet(1000001n))?.name, 'moved');
    await store.close();
  } finally {
    await fenced.close();
    await other.close();
  }
});

test('beyond what may wait, a read is refused at once', async (context) => {
  const { store } = await openFresh(context, server);
  const readsWaiting = () =>
    store.figures().find(({ name }) => name === 'petstore_reads_waiting')?.values[0]?.value;
  const reads = Array.from({ length: 10_050 }, (_, index) => store.findPet(BigInt(index % 5)));
  assert.equal(readsWaiting(), 10_000);
  const settled = await Promise.allSettled(reads);
  assert.equal(readsWaiting(), 0);
  const refused = settled.filter((result) => result.status === 'rejected');
  assert.equal(refused.length, 50);
  for (const { reason } of refused) assert.equal((reason as { code: string }).code, 'overloaded');
});

/** Of the database behind this server. */
async function addressOf(context: TestContext, relay: Server) {
  context.after(() => relay.close());
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const { port } = relay.address() as AddressInfo;
  return parseAddress(server.url().replace(`:${server.port}/`, `:${port}/`));
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
