import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { newCertificate } from '../../../harness/certificate.ts';
import { openTo } from '../../../harness/fresh-store.ts';
import { PostgresServer, TEST_PASSWORD } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { Refusal } from '../../domain/errors.ts';
import type { NewPet } from '../../domain/pet.ts';
import { StoreUnusable, type Store } from '../../domain/store.ts';
import type { Access } from '../../domain/store-identity.ts';
import { readMigrations } from '../migrations.ts';
import { IDENTITIES, openContract, SERVE, STAGING } from '../open.contract.ts';
import { parseAddress } from './address.ts';
import { migrate } from './migrate.ts';
import { openPostgresStore } from './store.ts';

const server = await PostgresServer.start();
after(() => server.close());

/** The line for a wrong setting, or for a database that may be there later. */
async function refusalOf(
  url: string,
  { isAway = false, ...access }: Access & { isAway?: boolean } = {},
): Promise<string> {
  try {
    const store = await openPostgresStore(url, { ...NEW_STORE, ...access });
    await store.close();
  } catch (error) {
    const isExpected = isAway ? error instanceof Refusal : error instanceof StoreUnusable;
    assert.ok(isExpected && error instanceof Error, String(error));
    assert.ok(!error.message.includes('\n'), error.message);
    assert.ok(!error.message.includes(TEST_PASSWORD), error.message);
    assert.ok(!error.message.includes('wrong-password'), error.message);
    return error.message;
  }
  return assert.fail(`${url} was opened`);
}

const AWAY = { isAway: true };

const wrongPassword = () => server.url('postgres', 'wrong-password');
const refusals: [what: string, url: () => string, message: RegExp, access?: typeof AWAY][] = [
  ['a wrong password', wrongPassword, / does not let the user petstore in .* check the user and/],
  [
    'a wrong setting of one host, with another one away',
    () => wrongPassword().replace('@', '@127.0.0.1:1,'),
    /connection refused .*; .* does not let the user petstore in/,
  ],
  ['a missing database', () => server.url('nothing_here'), /has no database nothing_here/],
  ['a server without TLS', () => `${server.url()}?sslmode=require`, /does not offer TLS/],
  [
    'an unknown host',
    () => 'postgres://petstore@no-such-host.invalid/pets',
    /the host no-such-host\.invalid is not known/,
    AWAY,
  ],
  [
    'each of several ports that refuse connections',
    () => 'postgres://petstore@127.0.0.1:1,127.0.0.1:2/pets',
    /connection refused at 127\.0\.0\.1:1: .*; connection refused at 127\.0\.0\.1:2: /,
    AWAY,
  ],
];
for (const [what, url, message, access] of refusals) {
  test(`${what} is named in one line, without a password`, async () => {
    assert.match(await refusalOf(url(), access), message);
  });
}

test('a missing password is named, and the connection is closed', async () => {
  const message = await refusalOf(server.url().replace(`:${TEST_PASSWORD}`, ''));
  assert.match(
    message,
    /needs a password for the user petstore: add it to the file that PGPASSFILE names/,
  );
  // PostgreSQL itself would close it after 60 seconds.
  const deadlineMs = Date.now() + 20_000;
  while (openSockets() > 0 && Date.now() < deadlineMs) await sleep(10);
  assert.equal(openSockets(), 0);
});

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

test('a read-only server is refused, and skipped where another host takes writes', async () => {
  const database = await server.createDatabase();
  await server.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
  assert.match(
    await refusalOf(server.url(database), AWAY),
    /is read-only \(default_transaction_read_only is on\): turn it off for the server, /,
  );
  await server.waitForNoSession(database);

  const other = await PostgresServer.start();
  try {
    await other.query(`CREATE DATABASE ${database}`);
    const both = server.url(database).replace('/test_', `,127.0.0.1:${other.port}/test_`);
    const store = await openPostgresStore(both, NEW_STORE);
    const created = await store.createPet({ name: 'Rex', categoryId: 1n, status: 'sold' });
    assert.equal(created.kind, 'created');
    await store.close();
    assert.deepEqual(await other.query('SELECT name FROM pets', database), [['Rex']]);
    for (const each of [server, other]) await each.waitForNoSession(database);
  } finally {
    await other.close();
  }
});

test('a database whose encoding cannot hold every name is refused', async () => {
  await server.query(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`);
  assert.match(await refusalOf(server.url('latin')), /ENCODING 'UTF8'/);
});

test('a user without the right to create tables is refused, and the right is named', async () => {
  const database = await server.createDatabase();
  await server.query(`CREATE ROLE guest LOGIN PASSWORD '${TEST_PASSWORD}'`, database);
  const url = server.url(database).replace('petstore:', 'guest:');
  assert.match(await refusalOf(url), /permission denied .* allowed to create tables/);
});

test('a user who may only read is refused, and the missing rights are named', async () => {
  const database = await server.createDatabase();
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
  await server.query(
    `CREATE ROLE reader LOGIN PASSWORD '${TEST_PASSWORD}';
     GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`,
    database,
  );
  const url = server.url(database).replace('petstore:', 'reader:');
  const missing = [
    'INSERT ON pets',
    'UPDATE ON pet_counter',
    'INSERT ON api_keys, UPDATE ON api_keys',
    'INSERT ON idempotency_keys, UPDATE ON idempotency_keys, DELETE ON idempotency_keys',
    'INSERT ON imports, UPDATE ON imports',
    'INSERT ON rate_limits, UPDATE ON rate_limits',
  ].join(', ');
  const message = await refusalOf(url);
  const expected = ` does not give the user reader the rights it needs (${missing}): grant them as `;
  assert.ok(message.includes(expected), message);
  await server.waitForNoSession(database);
});

test('a catalogue in two schemas of the search_path is refused, and both are named', async () => {
  const database = await server.createDatabase();
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
  await server.query(
    'CREATE SCHEMA petstore CREATE TABLE petstore_schema (version integer NOT NULL)',
    database,
  );
  const message = await refusalOf(server.url(database));
  assert.match(message, /a catalogue in each of the schemas petstore, public: .*SET search_path/);
  await server.query(`ALTER DATABASE ${database} SET search_path = public`);
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
});

/** Opens a store as the service does: a refusal is followed by another attempt. */
async function openWhenReady(url: string): Promise<Store> {
  try {
    return await openPostgresStore(url, NEW_STORE);
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code === 'unavailable', String(error));
    await sleep(200);
    return openWhenReady(url);
  }
}

test('of ten processes that start at once on an empty database, one sets it up', async () => {
  for (let round = 0; round < 3; round += 1) {
    const database = await server.createDatabase();
    const stores = await Promise.all(
      Array.from({ length: 10 }, () => openWhenReady(server.url(database))),
    );
    await Promise.all(stores.map((store) => store.close()));
    const newest = readMigrations(new URL('./migrations/', import.meta.url)).at(-1)?.version;
    const version = await server.query('SELECT version FROM petstore_schema', database);
    assert.deepEqual(version, [[newest]]);
    assert.deepEqual(await server.query('SELECT last_id::int FROM pet_counter', database), [[0]]);
  }
});

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
openContract('PostgreSQL', {
  async newPlace(hasStore, sql = '') {
    const database = await server.createDatabase(hasStore ? await storeDatabase() : undefined);
    await server.query(sql, database);
    return {
      open: (access) => openPostgresStore(server.url(database), access),
      query: (text) => server.query(text, database),
      // A change of a table or of its columns is a new row.
      contents: () => server.query(CLASSES, database),
    };
  },
  setVersion: (version) => `UPDATE petstore_schema SET version = ${version}`,
});

const CLASSES = `SELECT relname, xmin::text FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace ORDER BY relname`;
let made: Promise<string> | undefined;

/** A database with an empty store, to copy. */
function storeDatabase(): Promise<string> {
  made ??= server.createDatabase().then(async (database) => {
    await (await openPostgresStore(server.url(database), SERVE)).close();
    return database;
  });
  return made;
}

test('a role that may not change animals starts, and a change is refused with the right that it lacks', async () => {
  const database = await server.createDatabase();
  const owner = await openPostgresStore(server.url(database), SERVE);
  await owner.createPet(REX);
  await owner.close();
  await server.query(
    `CREATE ROLE adder LOGIN PASSWORD '${TEST_PASSWORD}';
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO adder;
     REVOKE DELETE ON pets FROM adder`,
    database,
  );
  const store = await openPostgresStore(server.url(database).replace('petstore:', 'adder:'), SERVE);
  assert.equal(await store.mayChange(), false);
  const seen = { ...REX, id: 1n };
  await assert.rejects(store.changePets([{ from: seen, to: undefined }]), {
    name: 'Refusal',
    code: 'unavailable',
    message: /: grant UPDATE and DELETE on the table pets to its user\.$/,
  });
  await store.close();
});

test('of a production and a staging service that start at once on an empty database, one is refused', async () => {
  const database = await server.createDatabase();
  const opened = await Promise.allSettled(
    [SERVE, { environment: STAGING.environment, identity: STAGING }].map((access) =>
      openPostgresStore(server.url(database), access),
    ),
  );
  const stores = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  await Promise.all(stores.map((store) => store.close()));
  assert.equal(stores.length, 1);
  assert.equal((await server.query(IDENTITIES, database)).length, 1);
});

test('the statement in the refusal of a store of another environment corrects it', async () => {
  const database = await server.createDatabase(await storeDatabase());
  await server.query("UPDATE store_identity SET environment = 'staging'", database);
  const message = await refusalOf(server.url(database), SERVE);
  const [, correction = ''] = /or correct a wrong one with (UPDATE .*)\.$/.exec(message) ?? [];
  await server.query(correction, database);
  await (await openPostgresStore(server.url(database), SERVE)).close();
});

const STEPS = [
  { version: 9, sql: 'CREATE TABLE pets (never integer)' },
  { version: 10, sql: 'ALTER TABLE pets ADD COLUMN colour text' },
];

/** Brings a store up to date by a step of this test, as often as a refusal says that it may succeed later. */
async function migrateWhenReady(url: string): Promise<void> {
  const connection = await openTo(url);
  try {
    await migrate(connection, parseAddress(url).shown, SERVE, STEPS);
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code === 'unavailable', String(error));
    await sleep(200);
    await migrateWhenReady(url);
  } finally {
    connection.destroy();
  }
}

test('a migration that waits for a backup does not stop the programs that are serving', async () => {
  const database = await server.createDatabase();
  const url = server.url(database);
  const first = await openPostgresStore(url, SERVE);
  await first.createPet(REX);
  await first.close();
  const backup = new Client(url);
  await backup.connect();
  await backup.query('BEGIN; SELECT FROM pets');
  let isOpen = false;
  const opening = migrateWhenReady(url).finally(() => {
    isOpen = true;
  });
  // The lock is asked for again and again; each reader waits for one attempt at most.
  const serving = new Client({ connectionString: url, statement_timeout: 3_000 });
  await serving.connect();
  const endMs = performance.now() + 2_500;
  for (let reads = 0; performance.now() < endMs; reads += 1) await serving.query('TABLE pets');
  assert.equal(isOpen, false);
  await backup.query('ROLLBACK');
  await opening;
  const { rows } = await serving.query('SELECT name, colour FROM pets');
  assert.deepEqual(rows, [{ name: 'Rex', colour: null }]);
  assert.match(await refusalOf(url), /has schema version 10, this program needs 9: use a newer/);
  await Promise.all([backup.end(), serving.end()]);
});

/** A server with TLS. With `asksUsers` it also asks them for a certificate, which `client` names. */
async function startSecure({ asksUsers }: { asksUsers: boolean }) {
  const secure = await PostgresServer.start();
  for (const name of ['server', 'client']) {
    const { certificate, key } = newCertificate();
    await secure.write(`data/${name}.crt`, certificate);
    await secure.write(`data/${name}.key`, key);
  }
  await secure.query('ALTER SYSTEM SET ssl = on');
  if (asksUsers) {
    await secure.query(`ALTER SYSTEM SET ssl_ca_file = 'client.crt'`);
    await secure.write(
      'data/pg_hba.conf',
      `hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
       hostnossl all all 127.0.0.1/32 scram-sha-256`,
    );
  }
  await secure.stop('fast');
  await secure.start();
  const fileOf = (name: string) => encodeURIComponent(join(secure.data, name));
  const isEncrypted = async (parameters: string) => {
    const store = await openPostgresStore(`${secure.url()}?${parameters}`, NEW_STORE);
    await store.ping();
    const [row] = await secure.query(
      `SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
       WHERE application_name = 'petstore'`,
    );
    await store.close();
    return row?.[0];
  };
  return { secure, isEncrypted, fileOf };
}

test('TLS: sslmode=require encrypts, and the verifying modes trust only the given certificate', async (t) => {
  const { secure, isEncrypted, fileOf } = await startSecure({ asksUsers: false });
  t.after(() => secure.close());
  const root = fileOf('server.crt');
  assert.equal(await isEncrypted('sslmode=require'), true);
  const ofProvider = 'sslmode=require&channel_binding=require&target_session_attrs=read-write';
  assert.equal(await isEncrypted(ofProvider), true);
  assert.equal(await isEncrypted(`sslmode=verify-ca&sslrootcert=${root}`), true);
  assert.equal(await isEncrypted(`sslmode=verify-full&sslrootcert=${root}`), true);
  assert.match(
    await refusalOf(`${secure.url()}?sslmode=verify-full`),
    /self-signed certificate.*: sslrootcert=FILE in the database URL must name/,
  );
});

test('TLS: a server that asks users for a certificate accepts that of sslcert and sslkey', async (t) => {
  const { secure, isEncrypted, fileOf } = await startSecure({ asksUsers: true });
  t.after(() => secure.close());
  const verified = `sslmode=verify-full&sslrootcert=${fileOf('server.crt')}`;
  const [certificate, key] = [fileOf('client.crt'), fileOf('client.key')];
  assert.equal(await isEncrypted(`${verified}&sslcert=${certificate}&sslkey=${key}`), true);
  assert.match(
    await refusalOf(`${secure.url()}?${verified}`),
    /does not let the user petstore in .*certificate/,
  );
  assert.match(
    await refusalOf(`${secure.url()}?${verified}&sslcert=${fileOf('server.crt')}&sslkey=${key}`),
    /TLS cannot be used as the database URL says \(.*\): .* sslkey the key of sslcert/,
  );
});

test('a migration may take an hour, where a statement of a request has seconds', async () => {
  const database = await server.createDatabase();
  await server.query(
    `CREATE TABLE seen (made text, timeout text);
     CREATE FUNCTION see() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
     BEGIN
       INSERT INTO seen SELECT object_identity, current_setting('statement_timeout')
       FROM pg_event_trigger_ddl_commands();
     END $$;
     CREATE EVENT TRIGGER see ON ddl_command_end EXECUTE FUNCTION see()`,
    database,
  );
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
  const timeouts = "SELECT DISTINCT timeout FROM seen WHERE made = 'public.pets'";
  assert.deepEqual(await server.query(timeouts, database), [['1h']]);
});
