// A primary that has lost commits, or that is another store, under a service that remembers more (D43).

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test, type TestContext } from 'node:test';
import { openFresh, REX } from '../../../harness/fresh-store.ts';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { startTestService, storageOf, type TestService } from '../../../harness/test-service.ts';
import { until } from '../../../harness/until.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import type { Measured } from '../../ops/metrics.ts';
import { newStoreIdentity } from '../../domain/store-identity.ts';
import { openPostgresStore } from './store.ts';

const server = await PostgresServer.start();
after(() => server.close());

test('D43: a promoted standby without the last creates is refused with 503 and one error with both values, also when its counter has grown; a restart goes back to the old primary', async (context) => {
  const { primary, standby, url } = await startFork(context);
  const service = await startTestService(storageOf('--database', url));
  context.after(() => service.close());
  await create(service, 3);
  await until('the standby has them', async () => (await lastIdOf(standby)) === 3);
  await standby.stop('immediate');
  await create(service, 2);
  await primary.stop('immediate');
  await standby.start();
  await standby.query('SELECT pg_promote()');

  const line = await errorLine(service);
  const at = `127.0.0.1:${standby.port}`;
  assert.match(line, new RegExp(`${at} has lost animals: its last id is 3, and 5 was assigned`));
  await assertRefused(service);
  // Another process that remembers nothing assigns the ids again, and more.
  const other = await openPostgresStore(url, NEW_STORE);
  context.after(() => other.close());
  for (let created = 0; created < 4; created += 1) await other.createPet(REX);
  assert.equal(await lastIdOf(standby), 7);
  await assertRefused(service);
  assert.equal(errorLines(service).length, 1, errorLines(service).join(''));

  await other.close();
  await service.close();
  await standby.stop('fast');
  await primary.start();
  const restarted = await startTestService(storageOf('--database', url));
  context.after(() => restarted.close());
  const { status } = await restarted.send('/pets', { headers: authorization(service) });
  assert.equal(status, 200);
});

for (const hasId of [true, false]) {
  const whose = hasId ? 'another store' : 'one without an id';
  test(`D43: a database that was swapped for ${whose} by renaming is refused with both ids, and served again after it was renamed back`, async (context) => {
    const [mine, other] = [await server.createDatabase(), await server.createDatabase()];
    const service = await startTestService(storageOf('--database', server.url(mine)));
    context.after(() => service.close());
    await create(service, 1);
    // The other one is a store with more animals: only its id shows that it is not the same.
    const identity = newStoreIdentity('production', { now: new Date(), randomBytes });
    await fill(server.url(other), 5, { identity });
    if (!hasId) await server.query('DELETE FROM store_identity', other);
    const aside = `aside_${mine}`;
    await rename(mine, aside);
    await rename(other, mine);
    const line = await errorLine(service);
    const [[storeId] = []] = await server.query('SELECT store_id FROM store_identity', aside);
    assert.match(
      line,
      new RegExp(
        `is another store: its id is ${hasId ? identity.id : null}, and .* ${String(storeId)}`,
      ),
    );
    await assertRefused(service);
    assert.deepEqual(await server.query('SELECT last_id::int FROM pet_counter', mine), [[5]]);

    await rename(mine, other);
    await rename(aside, mine);
    await until('it is served again', async () => (await post(service)) === 201);
    assert.equal(errorLines(service).length, 1);
  });
}

test('D43: a counter that is set back under open sessions is noticed within seconds', async (context) => {
  const database = await server.createDatabase();
  const service = await startTestService(storageOf('--database', server.url(database)));
  context.after(() => service.close());
  await create(service, 3);
  // As pg_restore --clean does.
  await server.query('UPDATE pet_counter SET last_id = 1', database);
  assert.match(await errorLine(service), /its last id is 1, and 3 was assigned/);
  await assertRefused(service);
});

type Fresh = Awaited<ReturnType<typeof openFresh>>;

const ADDED: [how: string, add: (fresh: Fresh) => Promise<unknown>][] = [
  ['a create', ({ store }) => store.createPet(REX)],
  ['a create with an Idempotency-Key', ({ store, newClaim }) => store.createPet(REX, newClaim())],
  ['an import', ({ store }) => store.importPets([REX])],
];

for (const [how, add] of ADDED) {
  test(`D43: the last id of ${how} is remembered before the counter is read again`, async (context) => {
    const fresh = await openFresh(context, server);
    await add(fresh);
    await server.query('UPDATE pet_counter SET last_id = 0', fresh.database);
    await until('a session is refused', () => Number(refusalsOf(fresh.store)) > 0);
  });
}

test('D43: a process that creates nothing remembers what others have created, and a metric counts the sessions it refuses', async (context) => {
  const database = await server.createDatabase();
  const errors: string[] = [];
  const store = await openPostgresStore(server.url(database), {
    ...NEW_STORE,
    onRefused: (message) => errors.push(message),
  });
  context.after(() => store.close());
  await fill(server.url(database), 5);
  const [[createdAt] = []] = await server.query('SELECT clock_timestamp()::text');
  await until('it has read the counter', async () => {
    const reads = await server.query(
      `SELECT FROM pg_stat_activity WHERE datname = '${database}' AND state = 'idle'
       AND query LIKE '%last_id%' AND query_start > '${String(createdAt)}'`,
    );
    return reads.length > 0;
  });
  await server.query('UPDATE pet_counter SET last_id = 4', database);
  await server.endSessions();
  await until('a session is refused', () => errors.length > 0);
  await assert.rejects(store.createPet(REX), { code: 'unavailable' });
  assert.match(errors.join('\n'), /^\S+ has lost animals: its last id is 4, and 5 was assigned.*$/);
  assert.ok(Number(refusalsOf(store)) > 0);
});

test('D43: ids that were inserted by hand above the counter do not stop the service', async (context) => {
  const { store, database, newClaim } = await openFresh(context, server);
  await store.createPet(REX);
  const claim = newClaim();
  await server.query(
    `INSERT INTO pets VALUES (1000, 'by hand', 7, 'available');
     INSERT INTO idempotency_keys VALUES ('${claim.apiKeyId}', '${claim.key}',
       '${claim.fingerprint}', 1000, ${claim.expiresAt.getTime()})`,
    database,
  );
  assert.equal((await store.findPet(1000n))?.name, 'by hand');
  assert.deepEqual(await store.createPet(REX, claim), {
    kind: 'replayed',
    pet: { ...REX, id: 1000n },
  });
  await server.endSessions();
  // A session that ends while it is used refuses the create, which can be repeated.
  const next = newClaim('next');
  await until('a session is opened again', async () => {
    const created = await store.createPet(REX, next).catch(() => undefined);
    if (created !== undefined)
      assert.deepEqual('pet' in created && created.pet, { ...REX, id: 2n });
    return created !== undefined;
  });
  assert.equal(refusalsOf(store), 0);
});

test('D43: a session that asks while others create is compared with what was remembered before it asked', async (context) => {
  const { store, database } = await openFresh(context, server);
  await store.createPet(REX);
  // From here on, the response to a new session arrives half a second after its snapshot.
  await server.query(
    `ALTER TABLE store_identity RENAME TO identity;
     CREATE VIEW store_identity AS SELECT identity.* FROM identity, pg_sleep(0.5)`,
    database,
  );
  // More at once than there are open sessions, again and again while the new ones ask. On a busy machine some of
  // these calls take too long, and are refused for that.
  let created = 0;
  const rounds = Array.from({ length: 40 }, async (_, index) => {
    for (let round = 0; round < 30; round += 1) {
      const [creation] = await Promise.allSettled([
        store.createPet(REX),
        store.findImport(`file ${index}`),
      ]);
      if (creation.status === 'fulfilled') created += 1;
    }
  });
  await Promise.all(rounds);
  assert.ok(created > 0);
  assert.equal(refusalsOf(store), 0);
});

test('D43: nothing is refused while sessions are ended and opened under load', async (context) => {
  const { store } = await openFresh(context, server);
  let created = 0;
  const creating = Array.from({ length: 8 }, async () => {
    for (let round = 0; round < 100; round += 1) {
      await store.createPet(REX).then(
        () => (created += 1),
        () => undefined,
      );
    }
  });
  for (let round = 0; round < 10; round += 1) await server.endSessions();
  await Promise.all(creating);
  assert.ok(created > 0);
  assert.equal(refusalsOf(store), 0);
});

function refusalsOf(store: Measured): number | undefined {
  const figure = store.figures().find(({ name }) => name === 'petstore_sessions_refused_total');
  return figure?.values[0]?.value;
}

/** A primary and a standby that commits do not wait for. */
async function startFork(context: TestContext) {
  const primary = await PostgresServer.start();
  context.after(() => primary.close());
  const standby = await PostgresServer.startStandby(primary);
  context.after(() => standby.close());
  await primary.query('ALTER SYSTEM RESET synchronous_standby_names');
  await primary.query('SELECT pg_reload_conf()');
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join(',');
  return { primary, standby, url: `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres` };
}

async function fill(url: string, count: number, options = NEW_STORE): Promise<void> {
  const store = await openPostgresStore(url, options);
  for (let created = 0; created < count; created += 1) await store.createPet(REX);
  await store.close();
}

/** Ends the sessions of a database, and renames it before another one begins. */
async function rename(database: string, name: string): Promise<void> {
  await until(`${database} is renamed`, async () => {
    await server.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    return server.query(`ALTER DATABASE ${database} RENAME TO ${name}`).then(
      () => true,
      () => false,
    );
  });
}

const authorization = ({ key }: TestService) => ({ authorization: `Bearer ${key}` });

async function post(service: TestService): Promise<number> {
  const body = JSON.stringify({ name: 'Rex', categoryId: 7 });
  return (await service.send('/pets', { method: 'POST', body })).status;
}

async function create(service: TestService, count: number): Promise<void> {
  for (let created = 0; created < count; created += 1) assert.equal(await post(service), 201);
}

async function assertRefused(service: TestService): Promise<void> {
  const body = JSON.stringify({ name: 'Rex', categoryId: 7 });
  for (const sent of [{ method: 'POST', body }, {}]) {
    const response = await service.send('/pets', sent);
    assert.equal(response.status, 503, response.text);
    assert.equal((response.json() as { code: string }).code, 'unavailable');
  }
}

function errorLines({ logLines }: TestService): string[] {
  return logLines.filter(
    (line) => line.includes('"level":"error"') && !line.includes('"requestId"'),
  );
}

async function errorLine(service: TestService): Promise<string> {
  await until('a session is refused', () => errorLines(service).length > 0);
  return errorLines(service)[0] ?? '';
}

async function lastIdOf(from: PostgresServer): Promise<number> {
  const [row] = await from.query('SELECT last_id::int FROM pet_counter');
  return Number(row?.[0]);
}
