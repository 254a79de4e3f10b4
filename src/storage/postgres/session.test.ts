// What each session sets itself, whatever the configuration of the server says.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { listPets } from '../../../harness/list-pets.ts';
import { openFresh, openTo, REX } from '../../../harness/fresh-store.ts';
import { PostgresServer } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { Refusal } from '../../domain/errors.ts';
import type { ImportProgress, Store } from '../../domain/store.ts';
import { parseAddress } from './address.ts';
import { deadlineIn } from '../deadline.ts';
import { Hosts } from './hosts.ts';
import { Pool } from './pool.ts';
import { SharedReads } from './shared-reads.ts';
import { STATEMENTS } from './statements.ts';
import { openPostgresStore } from './store.ts';

const DEALLOCATE_ALL = { name: '', text: 'DEALLOCATE ALL' };
const ALL = { status: undefined, afterId: 0n, count: 10 };

const server = await PostgresServer.start();
after(() => server.close());

test('every session waits for its commits: synchronous_commit is on, or remote_apply where that is configured', async () => {
  const database = await server.createDatabase();
  for (const configured of ['off', 'local', 'remote_write', 'on', 'remote_apply']) {
    const value = configured === 'remote_apply' ? configured : 'on';
    await server.query(`ALTER DATABASE ${database} SET synchronous_commit = ${configured}`);
    const connection = await openTo(server.url(database));
    const text = `SELECT setting, source FROM pg_settings WHERE name = 'synchronous_commit'`;
    const rows = await connection.query({ name: '', text }, [], deadlineIn(4_000));
    // What the session has set stays when the configuration is loaded again.
    assert.deepEqual(rows, [[value, 'session']], configured);
    await connection.close();
  }
});

test('no session compiles its statements: jit is off also where it is configured', async () => {
  const database = await server.createDatabase();
  await server.query(`ALTER DATABASE ${database} SET jit = on`);
  const connection = await openTo(server.url(database));
  const text = `SELECT setting, source FROM pg_settings WHERE name = 'jit'`;
  const rows = await connection.query({ name: '', text }, [], deadlineIn(4_000));
  assert.deepEqual(rows, [['off', 'session']]);
  await connection.close();
});

test('reads and batches with claims are planned once and search indexes, also if the tables were empty then', async (context) => {
  const { database } = await openFresh(context, server);
  await server.query('ANALYZE', database);
  const connection = await openTo(server.url(database));
  context.after(() => connection.close());
  const ask = (name: string, text: string, values: unknown[] = []) =>
    connection.query({ name, text }, values, deadlineIn(4_000));
  const scansOf = async (name: keyof typeof STATEMENTS, values: unknown[]) => {
    await ask(name, STATEMENTS[name].text, values);
    const literals = values.map((value) => (Array.isArray(value) ? `'{}'` : '0')).join(', ');
    const plan = await ask('', `EXPLAIN (COSTS OFF) EXECUTE "${name}"(${literals})`);
    const counts = 'SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = $1';
    assert.deepEqual(await ask('', counts, [name]), [[2n, 0n]]);
    const scan = /Scan.* on (?:pets|idempotency_keys).*\n.*/g;
    return (plan.join('\n').match(scan) ?? []).map((text) =>
      text.replaceAll(/\s+/g, ' ').replaceAll(/(?<=claim|input)_\d+| \d+/g, ''),
    );
  };
  assert.deepEqual(await scansOf('findPets', [[]]), [
    'Scan using pets_pkey on pets Index Cond: (id = ANY ($1))',
  ]);
  const page = [[], []];
  assert.deepEqual(await scansOf('listPets', page), [
    'Scan using pets_pkey on pets Index Cond: (id > wanted.id)',
  ]);
  assert.deepEqual(await scansOf('listLastPets', page), [
    'Scan Backward using pets_pkey on pets Index Cond: (id <= wanted.id)',
  ]);
  assert.deepEqual(await scansOf('listPetsOfStatus', [[], ...page]), [
    'Scan using pets_by_status on pets Index Cond: ((ROW(status, id) > ROW(wanted.status, wanted.id)) AND (status <= wanted.status))',
  ]);
  assert.deepEqual(await scansOf('listLastPetsOfStatus', [[], ...page]), [
    'Scan Backward using pets_by_status on pets Index Cond: ((ROW(status, id) <= ROW(wanted.status, wanted.id)) AND (status >= wanted.status))',
  ]);
  const none = Array.from({ length: 8 }, () => []);
  assert.deepEqual(await scansOf('createPetsWithClaims', [...none, 0n]), [
    'Scan using idempotency_keys_pkey on idempotency_keys claim Index Cond: ((api_key_id = input.api_key_id) AND (key = input.key))',
    'Scan using idempotency_keys_by_expiry on idempotency_keys claim Index Cond: (expires_at <= (InitPlan).col1)',
    'Scan on idempotency_keys TID Cond: (ctid = ANY ((InitPlan).col1))',
  ]);
});

test('a create waits for its turn also where lock_timeout is configured', async (context) => {
  const { database } = await openFresh(context, server);
  await server.query(`ALTER DATABASE ${database} SET lock_timeout = '1ms'`);
  const store = await openPostgresStore(server.url(database), NEW_STORE);
  context.after(() => store.close());
  const other = new Client({ connectionString: server.url(database) });
  await other.connect();
  await other.query('BEGIN; UPDATE pet_counter SET last_id = last_id');
  const creating = store.createPet(REX);
  await Promise.race([creating, sleep(200)]);
  await other.query('COMMIT');
  assert.equal((await creating).kind, 'created');
  await other.end();
});

test('a create whose wait for the standby is cancelled is refused, also where warnings are not reported', async (context) => {
  const { database } = await openFresh(context, server);
  await server.query(`ALTER DATABASE ${database} SET client_min_messages = error`);
  const quiet = await openPostgresStore(server.url(database), NEW_STORE);
  context.after(() => quiet.close());
  // Fails where the create is acknowledged every time.
  await withoutStandby(quiet, database, () => Promise.resolve());
});

test('a repeated create is acknowledged only when the standby has what the first one stored', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
  const first = await store.createPet(REX, newClaim());
  await withoutStandby(store, database, async () => {
    await assert.rejects(cancelled(store.createPet(REX, newClaim()), database), {
      code: 'unavailable',
    });
  });
  assert.ok(first.kind === 'created');
  assert.deepEqual(await store.createPet(REX, newClaim()), { kind: 'replayed', pet: first.pet });
});

test('a finished import is reported as finished only when the standby has it', async (context) => {
  const { store, database } = await openFresh(context, server);
  const to: ImportProgress = { source: 'file', position: 9, lines: 1, imported: 1, skipped: 0 };
  await store.importPets([REX], { from: 0, to });
  await withoutStandby(store, database, async () => {
    await assert.rejects(cancelled(store.findImport('file'), database), { code: 'unavailable' });
  });
  assert.deepEqual(await store.findImport('file'), to);
});

test('reads and creates succeed after the type of a column was changed', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
  await store.createPet(REX, newClaim());
  const readAll = () =>
    Promise.all([
      listPets(store, ALL),
      listPets(store, { ...ALL, status: 'available' }),
      store.findPet(1n).then((pet) => [pet]),
      store.createPet(REX, newClaim()).then((creation) => 'pet' in creation && [creation.pet]),
      // More than one query takes, so that several connections have prepared the statement.
      ...Array.from({ length: 100 }, (_, index) => listPets(store, { ...ALL, count: index + 1 })),
    ]);
  for (const type of ['varchar(300)', 'text', 'varchar(400)']) {
    await readAll();
    await server.query(`ALTER TABLE pets ALTER COLUMN name TYPE ${type}`, database);
    for (const pets of await readAll()) assert.deepEqual(pets, [{ ...REX, id: 1n }]);
  }
});

test('a read succeeds after its session has lost its prepared statements', async (context) => {
  const { database } = await openFresh(context, server);
  const pool = new Pool(new Hosts(parseAddress(server.url(database))), 5);
  context.after(() => pool.close());
  const reads = new SharedReads(pool);
  await Promise.all([1, 2, 3].map((n) => reads.query(STATEMENTS.findImport, [`file ${n}`])));
  await Promise.all([1, 2, 3].map(() => pool.query(DEALLOCATE_ALL, [], deadlineIn(4_000))));
  assert.deepEqual(await reads.query(STATEMENTS.findImport, ['file 1']), []);
});

test('a schema named like the role, with tables of its own, does not replace the catalogue', async (context) => {
  const { store, database } = await openFresh(context, server);
  await store.createPet(REX);
  await server.query(
    `CREATE SCHEMA petstore
     CREATE TABLE pets (id bigint, name text, category_id bigint, status text)
     CREATE TABLE pet_counter (last_id bigint)`,
    database,
  );
  // The sessions that are open, and those of another process.
  const other = await openPostgresStore(server.url(database), NEW_STORE);
  context.after(() => other.close());
  await server.endSessions();
  for (const each of [store, other]) {
    assert.deepEqual(await listPets(each, ALL), [{ ...REX, id: 1n }]);
  }
  assert.equal((await other.createPet(REX)).kind, 'created');
  assert.deepEqual(await server.query('SELECT count(*)::int FROM public.pets', database), [[2]]);
});

test('the catalogue lives in the schema that the search_path of the role names, and stays there', async (context) => {
  const database = await server.createDatabase();
  await server.query(
    `CREATE SCHEMA "Pet Shop"; ALTER DATABASE ${database} SET search_path = nowhere, "Pet Shop", public`,
    database,
  );
  for (let round = 1; round <= 2; round += 1) {
    const store = await openPostgresStore(server.url(database), NEW_STORE);
    context.after(() => store.close());
    await store.createPet(REX);
    const pets = await server.query('SELECT count(*)::int FROM "Pet Shop".pets', database);
    assert.deepEqual(pets, [[round]]);
    await server.query('CREATE SCHEMA IF NOT EXISTS nowhere', database);
  }
});

/** Runs `work` while every commit of the server waits for a standby that does not exist. */
async function withoutStandby(
  store: Store,
  database: string,
  work: () => Promise<void>,
): Promise<void> {
  await server.query(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
  await server.query('SELECT pg_reload_conf()');
  try {
    // The setting reaches the server's processes one by one: until then, a create simply succeeds.
    const until = performance.now() + 20_000;
    for (;;) {
      const outcome = await cancelled(store.createPet(REX), database).catch(
        (error: unknown) => error,
      );
      if (outcome instanceof Refusal) break;
      assert.ok(performance.now() < until, 'creates are acknowledged without the standby');
    }
    await work();
  } finally {
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
  }
}

/** The outcome of a call whose every wait for the standby is cancelled by hand. */
async function cancelled<Result>(call: Promise<Result>, database: string): Promise<Result> {
  const settled = call.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([settled, sleep(10, false)]))) {
    await server.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
       WHERE datname = '${database}' AND wait_event = 'SyncRep'`,
    );
  }
  return call;
}
