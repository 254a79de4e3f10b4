// The commands of docs that change a PostgreSQL database, run as they are printed.

import assert from 'node:assert/strict';
import { chmodSync, chownSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { newCertificate } from '../../harness/certificate.ts';
import { blocksBelow, runInShell } from '../../harness/documented-commands.ts';
import { needsProgram } from '../../harness/needs.ts';
import { PGBOUNCER_MISSING, startPgBouncer } from '../../harness/pgbouncer.ts';
import { PostgresServer, TEST_PASSWORD, unprivilegedUser } from '../../harness/postgres-server.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send, startTestService, storageOf, type TestService } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';

/** The PostgreSQL of the system, whose server is not newer than its pg_dump. */
const [installation] = globSync('/usr/lib/postgresql/*').toSorted().toReversed();
const needsPsql = { skip: needsProgram('psql') };
const needsDump = {
  skip: needsProgram(installation === undefined ? 'pg_dump of Debian' : 'pg_dump'),
};

const server = await PostgresServer.start();
after(() => server.close());

test(
  'the dump and the restore of backup.md, after PostgreSQL and the service were killed, lose nothing that was dumped and assign no id again',
  needsDump,
  async (t) => {
    const source = await PostgresServer.start({ installation });
    t.after(() => source.close());
    const database = source.url(await source.createDatabase());
    const service = await serve(t, ['--database', database]);
    const headers = { authorization: `Bearer ${service.key}` };
    const create = async (baseUrl: string) => {
      const body = JSON.stringify({ name: 'Rex', categoryId: 7 });
      const response = await send(`${baseUrl}/pets`, { method: 'POST', body, headers });
      assert.equal(response.status, 201, response.text);
      return (response.json() as { id: number }).id;
    };
    for (let created = 0; created < 3; created += 1) await create(service.baseUrl);
    service.signal('SIGKILL');
    await service.ended;
    await source.kill();
    await source.start();

    const [dump = '', ...restore] = blocksBelow('backup.md', '## PostgreSQL')
      .join('')
      .split(/(?=^psql)/m);
    assert.match(dump, /^pg_dump /m);
    const restored = source.url('petstore_restored');
    const variables = { DATABASE_URL: database, ADMIN_URL: source.url(), RESTORED_URL: restored };
    const folder = temporaryFolder(t);
    await runInShell(t, dump, folder, variables);
    const afterwards = await serve(t, ['--database', database]);
    const lastId = await create(afterwards.baseUrl);
    afterwards.signal('SIGKILL');
    await afterwards.ended;
    const printed = await runInShell(t, restore.join(''), folder, variables);
    assert.match(printed, /key_\w+/, 'the keys, of which some may have to be revoked');
    const served = await serve(t, ['--database', restored]);
    const listed = (await send(`${served.baseUrl}/pets`, { headers })).json() as { id: number }[];
    assert.deepEqual(
      listed.map(({ id }) => id),
      [1, 2, 3],
    );
    assert.ok((await create(served.baseUrl)) > lastId);
  },
);

test(
  'a primary that has lost animals is served again after the command of postgresql.md, and no id is assigned again',
  needsPsql,
  async (t) => {
    const name = await server.createDatabase();
    const url = server.url(name);
    const service = await startTestService(storageOf('--database', url));
    t.after(() => service.close());
    for (let created = 0; created < 5; created += 1)
      assert.equal((await post(service)).status, 201);
    await server.query('DELETE FROM pets WHERE id > 3; UPDATE pet_counter SET last_id = 3', name);
    await until('it is refused', () =>
      service.logLines.some((line) => line.includes('its last id is 3, and 5 was assigned')),
    );
    const { key } = service;
    await service.close();
    const command = blocksBelow('postgresql.md', '## A primary that has lost animals').join('');
    assert.match(command, /^PGTARGETSESSIONATTRS=\S+ psql /m);
    await runInShell(t, command, temporaryFolder(t), { DATABASE_URL: url });
    const restarted = await startTestService(storageOf('--database', url));
    t.after(() => restarted.close());
    const created = await post(restarted, key);
    assert.deepEqual([created.status, (created.json() as { id: number }).id], [201, 6]);
  },
);

test(
  'petstore, psql and pg_dump take the URLs of postgresql.md, with TLS and the standby first',
  needsDump,
  async (t) => {
    const folder = temporaryFolder(t);
    const { settings, authority } = await tlsFiles(folder);
    const primary = await PostgresServer.start({ installation, settings });
    t.after(() => primary.close());
    const standby = await PostgresServer.startStandby(primary);
    t.after(() => standby.close());
    // The role of the page is a superuser in the tests.
    const page = read('postgresql.md').replaceAll(
      /\bpetstore(?=[:?]| (?:LOGIN|OWNER|ENC))/g,
      'shop',
    );
    const [, setUp = ''] = /```sh\n([^`]+?)\nDATABASE_URL=/.exec(page) ?? [];
    await runInShell(t, setUp, folder, { ADMIN_URL: primary.url() });
    const urls = [...page.matchAll(/'(postgres:[^']+)'/g)].map(([, url = '']) =>
      url
        .replace('/etc/ssl/certs/ca-certificates.crt', authority)
        .replace('db.example:5432', `127.0.0.1:${primary.port}`)
        .replace('one:5432,two:5432', `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`),
    );
    assert.equal(urls.length, 3);
    const step = blocksBelow('postgresql.md', '## A primary that has lost animals').join('');
    for (const url of urls) {
      const variables = { DATABASE_URL: url };
      const commands = `petstore keys create --name first --create
        psql "$DATABASE_URL" -tc 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
        pg_dump --format=custom --file "$DATABASE_NAME" "$DATABASE_URL"`;
      const file = join(folder, `${urls.indexOf(url)}.dump`);
      const said = await runInShell(t, commands, folder, { ...variables, DATABASE_NAME: file });
      assert.match(said, /^pet_live_\w+\n t\n/);
      const plain = { DATABASE_URL: url.replace('&target_session_attrs=read-write', '') };
      assert.equal(await runInShell(t, step, folder, plain), 'UPDATE 1\n');
    }
  },
);

/** What a server needs for TLS, in files that it may read. */
async function tlsFiles(folder: string) {
  const made = newCertificate();
  const { uid, gid } = process.getuid?.() === 0 ? await unprivilegedUser() : {};
  const [authority, keyFile] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  writeFileSync(authority, made.certificate);
  writeFileSync(keyFile, made.key, { mode: 0o600 });
  if (uid !== undefined && gid !== undefined) chownSync(keyFile, uid, gid);
  chmodSync(folder, 0o755);
  return { authority, settings: { ssl: 'on', ssl_cert_file: authority, ssl_key_file: keyFile } };
}

test(
  'the blocks of running.md dump a database, and let the owner of its tables migrate it',
  needsDump,
  async (t) => {
    const source = await PostgresServer.start({ installation });
    t.after(() => source.close());
    const url = source.url(await source.createDatabase());
    const [dump = '', migrate = ''] = blocksBelow('running.md', '### Upgrade on PostgreSQL');
    const untilStarted = `${migrate.trim()} > log 2>&1 &
      while ! grep '"msg":"started"' log; do sleep 0.1; done; kill $!; wait $!`;
    const variables = { DATABASE_URL: url, OWNER_URL: url };
    await runInShell(t, `${untilStarted}\n${dump}`, temporaryFolder(t), variables);
  },
);

test(
  'the commands of troubleshooting.md for PostgreSQL run beside a service',
  needsPsql,
  async (t) => {
    const url = server.url(await server.createDatabase());
    const service = await startTestService(storageOf('--database', url));
    t.after(() => service.close());
    const commands = blocksBelow('troubleshooting.md', '## All database connections are in use');
    const inLines = read('troubleshooting.md').matchAll(/`(psql [^`]+)`/g);
    commands.push(...[...inLines].map(([, command = '']) => command));
    const variables = { DATABASE_URL: url };
    const printed = await runInShell(t, commands.join('\n'), temporaryFolder(t), variables);
    assert.match(printed, /pg_is_in_recovery[^]*wait_event_type/);
  },
);

test(
  'an environment that troubleshooting.md corrects is the one that the service needs',
  needsPsql,
  async (t) => {
    const url = server.url(await server.createDatabase());
    const flags = ['--env', 'staging'];
    await (await startTestService(storageOf('--database', url), { flags })).close();
    const [, statement = ''] = /`(UPDATE [^`]+)`/.exec(read('troubleshooting.md')) ?? [];
    const command = `psql "$DATABASE_URL" -c "${statement}"`;
    await runInShell(t, command, temporaryFolder(t), { DATABASE_URL: url });
    await (await startTestService(storageOf('--database', url))).close();
  },
);

for (const pooler of ['no pooler', 'PgBouncer']) {
  test(
    `the password changes as postgresql.md says, there and back, without a failed request: ${pooler}`,
    { skip: pooler === 'PgBouncer' ? PGBOUNCER_MISSING : needsPsql.skip },
    async (t) => {
      // The role of the page is a superuser in the tests.
      const role = pooler === 'PgBouncer' ? 'pooled' : 'direct';
      const changes = blocksBelow('postgresql.md', '## Change the password').map((block) =>
        block.replaceAll(/\bpetstore(_2)?\b/g, `${role}$1`).split(/^#.*$/m),
      );
      assert.equal(changes.length, 2);
      const name = await server.createDatabase();
      await server.query(
        `CREATE ROLE ${role} LOGIN PASSWORD 'secret'; ALTER SCHEMA public OWNER TO ${role}`,
        name,
      );
      const wayOf = await openWay(t, name, pooler === 'PgBouncer');
      const storage = storageOf('--database', await wayOf(role, 'secret'));
      const processes = [await startTestService(storage), await startTestService(storage)];
      t.after(() => Promise.all(processes.map((each) => each.close())));
      const key = processes[0]?.key ?? '';
      const load = { isOver: false };
      const clients = Promise.all(
        [0, 1].map(async () => {
          for (; !load.isOver;) assert.equal((await post(processes[0], key)).status, 201);
        }),
      );
      for (const [index, [begin = '', end = '']] of changes.entries()) {
        await runInShell(t, begin, temporaryFolder(t), { ADMIN_URL: server.url(name) });
        const url = await (index === 0
          ? wayOf(`${role}_2`, 'new-secret')
          : wayOf(role, 'newer-secret'));
        // As behind a balancer: the process that ends gets no more requests.
        for (const old of processes.slice()) {
          processes.push(await startTestService(storageOf('--database', url)));
          processes.shift();
          await old.close();
        }
        await runInShell(t, end, temporaryFolder(t), { ADMIN_URL: server.url(name) });
      }
      load.isOver = true;
      await clients;
      await server.endSessions();
      await until(
        'new sessions are accepted',
        async () => (await post(processes[0], key)).status === 201,
      );
      const owners = "SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = 'public'";
      assert.deepEqual(await server.query(owners, name), [[role]]);
    },
  );
}

/** How the service reaches the database. A pooler is told the password of each role. */
async function openWay(t: TestContext, database: string, isPooled: boolean) {
  const settings = { pool_mode: 'session', default_pool_size: '40' };
  const pooler = isPooled ? await startPgBouncer(server, settings) : undefined;
  if (pooler !== undefined) t.after(() => pooler.close());
  const base = pooler?.url(database) ?? server.url(database);
  const users: Record<string, string> = {};
  return async (user: string, password: string): Promise<string> => {
    users[user] = password;
    await pooler?.setUsers(users);
    const url = base.replace(`petstore:${TEST_PASSWORD}@`, `${user}:${password}@`);
    await until(`${user} is let in`, () => isLetIn(url));
    return url;
  };
}

async function isLetIn(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

function post(service: TestService | undefined, key = service?.key ?? '') {
  assert.ok(service !== undefined);
  const body = JSON.stringify({ name: 'Rex', categoryId: 7 });
  const headers = { authorization: `Bearer ${key}` };
  return service.send('/pets', { method: 'POST', body, headers });
}

function read(page: string): string {
  return readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
}
