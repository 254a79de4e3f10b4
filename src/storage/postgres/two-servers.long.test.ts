// Two servers that take writes behind one address, as after a failover that left the old one running (D43).

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test, type TestContext } from 'node:test';
import { openFresh, REX } from '../../../harness/fresh-store.ts';
import { Link } from '../../../harness/link.ts';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { until } from '../../../harness/until.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import type { Store } from '../../domain/store.ts';
import { newStoreIdentity } from '../../domain/store-identity.ts';
import { openPostgresStore } from './store.ts';

const ROUNDS = 20;
const STEPS = 5;

const servers = [await PostgresServer.start(), await PostgresServer.start()] as const;
after(() => Promise.all(servers.map((server) => server.close())));
const [first] = servers;
/** Different reads, which share no connection. */
const readAll = (store: Store) =>
  Promise.allSettled([1, 2, 3, 4].map((number) => store.findImport(`file ${number}`)));

test(`D43: a process gives no id twice while its connections reach two writable servers by turns, in ${ROUNDS} rounds`, async (context) => {
  const address = await openAddress(context);
  let connections = 0;
  address.choose = () => servers[(connections += 1) % 2] ?? first;
  const ids: bigint[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const server of servers) {
      await server.query(`UPDATE pet_counter SET last_id = ${round * 1_000}`, address.database);
    }
    const store = await openPostgresStore(address.url, NEW_STORE);
    for (let step = 0; step < STEPS; step += 1) {
      // The reads take the connections by turns, so that the creates do.
      const reads = readAll(store);
      const creates = await Promise.allSettled([store.createPet(REX), store.createPet(REX)]);
      for (const create of creates) {
        if (create.status === 'fulfilled' && 'pet' in create.value) ids.push(create.value.pet.id);
      }
      await reads;
    }
    await store.close();
  }
  assert.ok(ids.length > 0);
  assert.deepEqual(ids.length - new Set(ids).size, 0, `of ${ids.length} animals`);
});

test('D43: a connection to another server than that of the open ones is refused, all are replaced, and a warning says so once', async (context) => {
  const address = await openAddress(context);
  const warnings: string[] = [];
  const store = await openPostgresStore(address.url, {
    ...NEW_STORE,
    onWarning: (message) => warnings.push(message),
  });
  context.after(() => store.close());
  await store.createPet(REX);
  // Its counter is not behind: only that it is another server shows.
  await servers[1].query('UPDATE pet_counter SET last_id = 100', address.database);
  const [, other] = servers;
  address.choose = () => other;
  const read = await readAll(store);
  assert.ok(read.some(({ status }) => status === 'rejected'));
  await until('the other one is used', async () => {
    const creation = await store.createPet(REX).catch(() => undefined);
    return creation !== undefined && 'pet' in creation && creation.pet.id === 101n;
  });
  await servers[0].waitForNoSession(address.database);
  const [warning = ''] = warnings;
  assert.match(
    warning,
    /^127\.0\.0\.1:\d+ leads to another server than the open connections, .*: one address must /,
  );
  assert.equal(warnings.length, 1, warnings.join('\n'));
});

const ADDED = {
  'a create': ({ store }: Fresh) => store.createPet(REX),
  'a create with an Idempotency-Key': ({ store, newClaim }: Fresh) =>
    store.createPet(REX, newClaim('next')),
  'a repeated create': ({ store, newClaim }: Fresh) => store.createPet(REX, newClaim('first')),
  'an import': ({ store }: Fresh) => store.importPets([REX]),
  'a step of an import': ({ store }: Fresh) =>
    store.importPets([REX], {
      from: 0,
      to: { source: 'file', position: 1, lines: 1, imported: 1, skipped: 0 },
    }),
};
type Fresh = Awaited<ReturnType<typeof openFresh>>;

for (const [what, add] of Object.entries(ADDED)) {
  test(`D43: ${what} stores nothing on a server whose last id is lower than one that this process was given`, async (context) => {
    const fresh = await openFresh(context, first);
    await fresh.store.createPet(REX, fresh.newClaim('first'));
    await fresh.store.createPet(REX);
    const claims = 'SELECT key, pet_id::int FROM idempotency_keys';
    const before = await first.query(claims, fresh.database);
    await first.query('UPDATE pet_counter SET last_id = 1', fresh.database);
    await assert.rejects(add(fresh), { code: 'unavailable' });
    assert.deepEqual(await first.query('SELECT last_id::int FROM pet_counter', fresh.database), [
      [1],
    ]);
    assert.deepEqual(await first.query('SELECT count(*)::int FROM pets', fresh.database), [[2]]);
    assert.deepEqual(await first.query(claims, fresh.database), before);
    assert.deepEqual(await first.query('SELECT FROM imports', fresh.database), []);
  });
}

/** One address that leads to the one or the other of two copies of a store, at first always to the first. */
async function openAddress(context: TestContext) {
  const identity = newStoreIdentity('production', { now: new Date(), randomBytes });
  let database = '';
  for (const server of servers) {
    database = await server.createDatabase();
    await (await openPostgresStore(server.url(database), { identity })).close();
  }
  const address = { database, url: '', choose: (): PostgresServer => first };
  const link = await Link.open(() => address.choose().port);
  context.after(() => link[Symbol.asyncDispose]());
  address.url = `postgres://petstore:${TEST_PASSWORD}@127.0.0.1:${link.port}/${database}`;
  return address;
}
