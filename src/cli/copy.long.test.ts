import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { removePets, setStatus } from '../../harness/change-pets.ts';
import { run as runProcess, withVariable } from '../../harness/command.ts';
import { PostgresServer, TEST_PASSWORD } from '../../harness/postgres-server.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import { newIdempotencyClaim, type IdempotencyClaim } from '../domain/idempotency.ts';
import { INT64_MAX, INT64_MIN } from '../domain/int64.ts';
import type { NewPet } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';
import { newStoreIdentity } from '../domain/store-identity.ts';
import {
  copyCatalogue,
  TABLES,
  type CatalogueReader,
  type CopyTarget,
  type Row,
} from '../storage/tools/copy.ts';
import {
  openPostgresReader,
  openPostgresTarget,
  openToRead,
} from '../storage/tools/postgres-copy.ts';
import { openPostgresStore } from '../storage/postgres/store.ts';
import { openSqliteReader, openSqliteTarget } from '../storage/tools/sqlite-copy.ts';
import { verifySqlite } from '../storage/tools/sqlite-verify.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { UsageError } from '../setting.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';
import { executeOrExplain } from './run.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
const NAMES = ['Rex', '🐈‍⬛ "\\', "'; --", '{NULL}', 'line\nbreak\t', '\u{10ffff}', 'é e\u0301'];
/** More than one page of a copy. */
const ANIMALS = 2_503;
const IDENTITY = newStoreIdentity('production', { now: new Date(), randomBytes });

/** Ends every session of the program, from a process of its own. */
const END_SESSIONS = [
  '--input-type=module',
  '--eval',
  `import pg from 'pg';
   const client = new pg.Client(process.argv[1]);
   await client.connect();
   await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'");
   await client.end();`,
];

let server: PostgresServer;
let folder: string;
let files = 0;
before(async () => {
  server = await PostgresServer.start();
  folder = temporaryFolder();
});
after(async () => {
  await server.close();
});

test('a catalogue goes from SQLite to PostgreSQL and back, and is the same', async () => {
  const [here, database, back] = [newFile(), await server.createDatabase(), newFile()];
  const filled = await fill(here);
  // Ids of removed animals must not be given again, and their claims stay.
  const source = openSqliteStore(here, NEW_STORE);
  await setStatus(source, [1n], 'pending');
  await removePets(source, [filled.claimedId, BigInt(ANIMALS + 1)]);
  await source.close();

  const there = await run('--from', `sqlite:${here}`, '--to', server.url(database));
  const [file, address] = [`sqlite:${here}`, withoutUser(server.url(database))];
  const totals = `animals: ${ANIMALS - 1}, keys: 3, claims: 2, imports: 1, last id: 2504`;
  assert.deepEqual([there.code, there.stderr], [0, `Copied ${file} to ${address}; ${totals}.\n`]);
  const again = await run('--from', server.url(database), '--to', `sqlite:${back}`);
  assert.equal(again.stderr, `Copied ${address} to sqlite:${back}; ${totals}.\n`);
  assert.deepEqual(dump(back), dump(here));

  for (const store of [
    await openPostgresStore(server.url(database), NEW_STORE),
    openSqliteStore(back, NEW_STORE),
  ]) {
    const replayed = await store.createPet(REX, filled.claim);
    assert.deepEqual(replayed, { kind: 'replayed', pet: { ...REX, id: filled.claimedId } });
    const created = await store.createPet(REX);
    assert.equal(created.kind === 'created' && created.pet.id, 2_505n);
    await store.close();
  }
});

test('a row by hand above the counter is copied with its id, and the next id is above it', async () => {
  const [database, back] = [await server.createDatabase(), newFile()];
  await (await openPostgresStore(server.url(database), NEW_STORE)).close();
  await server.query("INSERT INTO pets VALUES (70, 'by hand', 1, 'sold')", database);
  assert.equal((await run('--from', server.url(database), '--to', `sqlite:${back}`)).code, 0);
  const { lastId, problems } = verifySqlite(back);
  assert.deepEqual([lastId, problems], [70n, []]);
});

test('a copy is the same store as its source, also in a database on which a service has started', async () => {
  const [here, back] = [newFile(), newFile()];
  await openSqliteStore(here, { identity: IDENTITY }).close();
  await createAndClose(here, 1);
  const to = server.url(await server.createDatabase());
  const identity = newStoreIdentity('production', { now: new Date(0), randomBytes });
  await (await openPostgresStore(to, { environment: 'production', identity })).close();
  assert.equal((await run('--from', `sqlite:${here}`, '--to', to)).code, 0);
  assert.equal((await run('--from', to, '--to', `sqlite:${back}`)).code, 0);
  assert.deepEqual(dump(back), dump(here));
  const idFile = join(dirname(back), 'petstore.store-id');
  assert.equal(readFileSync(idFile, 'utf8'), `${IDENTITY.id}\n`);
});

test('a command names a PostgreSQL database without its user and password', async () => {
  const url = server.url(await server.createDatabase());
  await (await openPostgresStore(url, { environment: 'production', identity: IDENTITY })).close();
  const place = withoutUser(url);
  for (const [args, line] of [
    [['keys', 'list'], `0 keys in ${place}.\n`],
    [['export'], `Exported 0 animals from ${place}.\n`],
    [['verify'], `${place}: animals: 0, last id: 0, problems: 0.\n`],
  ] as const) {
    let words = '';
    const code = await execute(COMMANDS, args, {
      env: { DATABASE_URL: url },
      stdout: { write: () => true },
      stderr: { write: (text) => (words += text) },
    });
    assert.deepEqual([code, words], [0, line]);
  }
});

test('stores of two environments are not copied into one another, and both are named', async () => {
  const here = newFile();
  await openSqliteStore(here, { identity: IDENTITY }).close();
  const to = server.url(await server.createDatabase());
  const identity = newStoreIdentity('staging', { now: new Date(), randomBytes });
  await (await openPostgresStore(to, { environment: 'staging', identity })).close();
  await assert.rejects(
    run('--from', `sqlite:${here}`, '--to', to),
    (error: unknown) =>
      error instanceof UsageError &&
      error.message ===
        `sqlite:${here} is a production store and ${withoutUser(to)} is a staging store: --from and --to must be of one environment.`,
  );
  const reader: CatalogueReader = await openPostgresReader(to);
  assert.deepEqual([await reader.count(TABLES.animals), await reader.lastId()], [0, 0n]);
  await reader.close();
});

test('a source of an earlier version or of 0 bytes is refused, and stays as it is', async () => {
  const [old, empty, none] = [newFile(), newFile(), newFile()];
  for (const file of [old, empty]) mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(old);
  database.exec('PRAGMA application_id = 1346720851; PRAGMA user_version = 2');
  database.close();
  writeFileSync(empty, '');
  const bytes = readFileSync(old);
  const sources: [file: string, message: string][] = [
    [old, `${old} has schema version 2, this program needs 9: `],
    [empty, `${empty} is empty: it must be a file with a catalogue.`],
    [none, `there is no file ${none}.`],
  ];
  for (const [file, message] of sources) {
    const copied = run('--from', `sqlite:${file}`, '--to', `sqlite:${newFile()}`);
    await assert.rejects(copied, (error: Error) => error.message.startsWith(message));
  }
  assert.ok(readFileSync(old).equals(bytes));
  assert.equal(readFileSync(empty).length, 0);
  assert.ok(!existsSync(none));
});

test('a copy that was interrupted, even right before its commit, leaves nothing, and is started again', async () => {
  const here = newFile();
  const { keyIds } = await fill(here);
  let pages = 0;
  const interruptions: ((target: CopyTarget) => Partial<CopyTarget>)[] = [
    (target) => ({
      write(table, rows) {
        pages += 1;
        return pages > 1 ? interrupted() : target.write(table, rows);
      },
    }),
    () => ({ commit: interrupted }),
  ];
  for (const [to, open] of await newTargets()) {
    pages = 0;
    for (const interruption of interruptions) {
      const [source, target] = [openSqliteReader(here), await open()];
      const harmed = { ...target, ...interruption(target) };
      await assert.rejects(copyAndClose(source, harmed), { message: 'interrupted' });
      await assertEmpty(to);
    }
    const store = openSqliteStore(here, NEW_STORE);
    await store.createPet({ ...REX, name: 'late' });
    await store.revokeApiKey(keyIds[0] ?? '', new Date());
    await store.close();
    const finished = await run('--from', `sqlite:${here}`, '--to', to);
    assert.equal(finished.code, 0, finished.stderr);
    const back = newFile();
    assert.equal((await run('--from', to, '--to', `sqlite:${back}`)).code, 0);
    assert.deepEqual(dump(back), dump(here));
  }
});

test('a copy is one moment of its source, whatever is written meanwhile', async () => {
  const database = await server.createDatabase();
  const store = await openPostgresStore(server.url(database), NEW_STORE);
  await createMany(store, ANIMALS);
  const source = await openPostgresReader(server.url(database));
  await createMany(store, 10);
  const file = newFile();
  const target = openSqliteTarget(file);
  const found = await copyAndClose(source, target, () => void store.createPet(REX));
  assert.equal(found.animals, ANIMALS);
  assert.equal(found.lastId, BigInt(ANIMALS));
  await store.close();
});

test('a target that holds other data is refused and left alone', async () => {
  const [here, there] = [newFile(), newFile()];
  await fill(here);
  await createAndClose(there, 1);
  const untouched = dump(there);
  await assert.rejects(run('--from', `sqlite:${here}`, '--to', `sqlite:${there}`), {
    name: 'StoreUnusable',
    message: /^\S+ exists: name a file that does not exist yet/,
  });
  assert.deepEqual(dump(there), untouched);

  // A service stores its first key when it starts.
  const url = server.url(await server.createDatabase());
  const store = await openPostgresStore(url, NEW_STORE);
  assert.equal(await store.createFirstApiKey(newKey('first', new Date())), true);
  await assert.rejects(run('--from', `sqlite:${here}`, '--to', url), {
    name: 'StoreUnusable',
    message: 'the target holds other data: it must be new or empty.',
  });
  assert.equal((await store.createPet(REX)).kind, 'created');
  assert.equal((await store.listApiKeys()).length, 1);
  await store.close();
});

test('a target that has only assigned an id, or only noted an import, is not empty', async () => {
  const here = newFile();
  await createAndClose(here, 1);
  for (const change of [
    (target: CopyTarget) => target.setLastId(1n),
    (target: CopyTarget) => target.write(TABLES.imports, [['a file', 9n, 1n, 1n, 0n]]),
  ]) {
    const [source, target] = [openSqliteReader(here), openSqliteTarget(newFile())];
    await change(target);
    await assert.rejects(copyAndClose(source, target), /the target holds other data/);
  }
});

test('a file that appears at the target during the copy is not replaced', async () => {
  const [here, there] = [newFile(), newFile()];
  await createAndClose(here, 3);
  const [source, target] = [openSqliteReader(here), openSqliteTarget(there)];
  writeFileSync(there, 'mine');
  await assert.rejects(copyAndClose(source, target), /petstore\.sqlite exists: name a file/);
  assert.deepEqual(readdirSync(dirname(there)), ['petstore.sqlite']);
});

test('the log of a deleted file is not left beside a copy, which SQLite would apply it to', async () => {
  const [here, there] = [newFile(), newFile()];
  await createAndClose(here, 3);
  await createAndClose(there, 1);
  rmSync(there);
  writeFileSync(`${there}-wal`, '');
  await assert.rejects(run('--from', `sqlite:${here}`, '--to', `sqlite:${there}`), {
    name: 'StoreUnusable',
    message: /petstore\.sqlite-wal exists/,
  });
  assert.equal(existsSync(there), false);
});

test('of two copies into one target, one is there in the end, and the other reports that it failed', async () => {
  const here = newFile();
  await createAndClose(here, 3);
  for (const [to, open] of await newTargets()) {
    const [source, first] = [openSqliteReader(here), await open()];
    let second = { code: -1, stderr: '' };
    const overtaken: CopyTarget = {
      ...first,
      async commit() {
        second = await run('--from', `sqlite:${here}`, '--to', to).catch((error: Error) => ({
          code: 2,
          stderr: error.message,
        }));
        await first.commit();
      },
    };
    await copyAndClose(source, overtaken);
    const isFile = to.startsWith('sqlite:');
    const reason = isFile ? /partial exists: name a file/ : /another program writes to the target/;
    assert.match(second.stderr, reason);
    assert.equal((await run('--from', to, '--to', `sqlite:${newFile()}`)).code, 0);
  }
});

test('while PostgreSQL is being copied into, no service starts on a new database or stores anything in another, and afterwards it can', async () => {
  const here = newFile();
  await createAndClose(here, 3);
  for (const isNew of [true, false]) {
    const url = server.url(await server.createDatabase());
    if (!isNew) await (await openPostgresStore(url, NEW_STORE)).close();
    const [source, target] = [openSqliteReader(here), await openPostgresTarget(url)];
    const early = isNew ? undefined : await openPostgresStore(url, NEW_STORE);
    const calls: Promise<unknown>[] =
      early === undefined
        ? [openPostgresStore(url, NEW_STORE)]
        : [early.createPet(REX), early.createFirstApiKey(newKey('first', new Date()))];
    await Promise.all(calls.map((call) => assert.rejects(call, { code: 'unavailable' })));
    await copyAndClose(source, target);
    const store = early ?? (await openPostgresStore(url, NEW_STORE));
    const creation = await store.createPet(REX);
    assert.equal(creation.kind === 'created' && creation.pet.id, 4n);
    await store.close();
  }
});

test('timeouts of the role for transactions end neither an export, a verification nor a copy', async () => {
  const [here, there] = [await server.createDatabase(), await server.createDatabase()];
  const store = await openPostgresStore(server.url(here), NEW_STORE);
  await createMany(store, ANIMALS);
  await store.close();
  const [[version] = []] = await server.query('SHOW server_version_num');
  // The second one is unknown before version 17.
  const names = ['idle_in_transaction_session_timeout', 'transaction_timeout'];
  for (const name of names.slice(0, Number(version) >= 170_000 ? 2 : 1)) {
    for (const database of [here, there]) {
      await server.query(`ALTER ROLE petstore IN DATABASE ${database} SET ${name} = 200`);
    }
  }
  const [source, target] = [
    await openPostgresReader(server.url(here)),
    await openPostgresTarget(server.url(there)),
  ];
  await sleep(1_000);
  const copied = await copyAndClose(source, target);
  assert.equal(copied.animals, ANIMALS);
  const { connection, run: ask } = await openToRead(server.url(there));
  await sleep(1_000);
  assert.deepEqual(await ask('SELECT count(*) FROM pets'), [[BigInt(ANIMALS)]]);
  await connection.close();
});

const HARMS: [what: string, harm: (target: CopyTarget) => Partial<CopyTarget>][] = [
  [
    'without a row',
    (target) => ({
      // Claims refer to keys, so that no database would take them without these.
      write: (table, rows) => target.write(table, table === TABLES.keys ? rows : rows.slice(1)),
    }),
  ],
  ['with another last id', (target) => ({ setLastId: (id) => target.setLastId(id + 1n) })],
  [
    'with another identity',
    (target) => ({
      write: (table, rows) =>
        target.write(table, table === TABLES.identity ? rows.map(renamed) : rows),
    }),
  ],
];

const renamed = ([, ...others]: Row): Row => ['another', ...others];

for (const [what, harm] of HARMS) {
  test(`a copy that comes out different is not stored: ${what}`, async () => {
    const here = newFile();
    await fill(here);
    for (const [to, open] of await newTargets()) {
      const [source, target] = [openSqliteReader(here), await open()];
      const careless: CopyTarget = { ...target, ...harm(target) };
      await assert.rejects(copyAndClose(source, careless), /target differs from the source/);
      await assertEmpty(to);
    }
  });
}

test('a database that goes away during a copy is told in one line, and the copy can be started again', async () => {
  const here = newFile();
  await fill(here);
  const url = server.url(await server.createDatabase());
  const cut = await runOn(
    {
      isTTY: true,
      write: (text) => {
        // The first sign of progress ends the session, and the copy stands still meanwhile.
        if (text.includes('%'))
          execFileSync(process.execPath, [...END_SESSIONS, server.url('postgres')]);
      },
    },
    '--from',
    `sqlite:${here}`,
    '--to',
    url,
  );
  assert.equal(cut.code, 1);
  assert.match(
    cut.stderr.split('\r\u001b[K').at(-1) ?? '',
    /^petstore: .*the copy stopped \(.*\): the target holds all of it or nothing; run the same command again\.\n$/,
  );
  assert.equal((await run('--from', `sqlite:${here}`, '--to', url)).code, 0);
});

test('the password of a copy is in a file that only its user can read', async (t) => {
  const database = await server.createDatabase();
  const [here, file] = [newFile(), join(folder, 'passwords')];
  await createAndClose(here, 3);
  writeFileSync(file, `127.0.0.1:${server.port}:*:petstore:${TEST_PASSWORD}\n`, { mode: 0o600 });
  const url = server.url(database).replace(`:${TEST_PASSWORD}`, '');
  const env = { PGPASSFILE: file };
  const copied = await runProcess(['copy', '--from', `sqlite:${here}`, '--to', url], { env });
  // One line: no warning of the driver.
  assert.match(copied.stderr, /^Copied [^\n]+ animals: 3, [^\n]+\n$/);
  const back = await runProcess(['copy', '--from', url, '--to', `sqlite:${newFile()}`], { env });
  assert.deepEqual([copied.code, back.code], [0, 0]);
  const without = await runProcess(['copy', '--from', url, '--to', `sqlite:${newFile()}`]);
  assert.match(without.stderr, /needs a password for the user petstore: .* file that PGPASSFILE/);
  t.diagnostic(copied.stderr);
});

test('a password in an argument is refused, and nothing repeats a part of it', async () => {
  const said = new Set<string>();
  for (const password of ['secret', 'sec:ret', 'sec@ret', 'sec/ret', 'sec?ret', 'sec ret']) {
    const url = `postgres://me:${password}@127.0.0.1:1/pets`;
    for (const words of [
      ...['serve', 'keys list', 'verify', 'export'].flatMap((command) => [
        [...command.split(' '), '--database', url],
        [...command.split(' '), `--database=${url}`],
      ]),
      ['copy', '--from', url, '--to', 'sqlite:b'],
      ['copy', '--from', 'sqlite:a', `--to=${url}`],
      ['import', url],
      ['verify', '--database', 'postgres://me@127.0.0.1:1/pets?password=secret'],
      ['copi', url],
      [url],
      [`DATABASE_URL=${url}`, 'serve'],
      ['verify', `PG=${url}`],
      ['verify', '--', url],
      ['verify', 'PGPASSWORD=secret'],
      ['verify', 'host=h password = secret'],
      ['verify', 'me:secret@h/pets'],
      ['verify', `https://me:${password}@h/pets`],
      // Cut before its @.
      ['verify', 'postgres://me:12/3?secret'],
    ]) {
      const { code, stderr, stdout } = await runHereAsIs(words);
      assert.equal(code, 2, words.join(' '));
      assert.doesNotMatch(stderr + stdout, /sec|ret\b|me:/, words.join(' '));
      said.add(stderr.replace(/^petstore: |^.*"msg":"|(?:"\})?\n$/gs, ''));
    }
  }
  const line =
    'an argument may have a password, which the list of processes shows to everybody on the machine: put the URL of a database into DATABASE_URL, or the password into the file that PGPASSFILE names.';
  assert.deepEqual([...said], [line]);
  for (const words of [
    ['verify', '--database', 'postgres://me@127.0.0.1:1/pets?secret=1'],
    ['verify', '--database', 'postgres://me@127.0.0.1:1/pets?sslmode=secret'],
  ]) {
    assert.doesNotMatch((await runHereAsIs(words)).stderr, /secret/);
  }
  const names = ['C:\\me@work\\a.sqlite', 'petstore@production.sqlite', 'https://h/a.csv'];
  for (const name of names) {
    assert.match((await runHereAsIs(['verify', name])).stderr, /there is no file/);
  }
});

test('a person who watches sees a bar on standard error, and it is gone in the end', async () => {
  const here = newFile();
  await createAndClose(here, 10);
  const watched = await runOn(
    { isTTY: true },
    '--from',
    `sqlite:${here}`,
    '--to',
    `sqlite:${newFile()}`,
  );
  assert.match(watched.stderr, /100 % {2}10 animals/);
  assert.ok(watched.stderr.split('\r\u001b[K').at(-1)?.startsWith('Copied '));
  assert.doesNotMatch(watched.stdout, /%/);
});

const ignore = () => undefined;

/** Copies, and closes both. */
async function copyAndClose(
  source: CatalogueReader,
  target: CopyTarget,
  onProgress: () => void = ignore,
) {
  try {
    return await copyCatalogue(source, target, onProgress);
  } finally {
    await source.close();
    await target.close();
  }
}

function interrupted(): never {
  throw new Error('interrupted');
}

/** A new target of either kind, by the name that the command line has for it. */
async function newTargets(): Promise<[name: string, open: () => Promise<CopyTarget>][]> {
  const [file, url] = [newFile(), server.url(await server.createDatabase())];
  return [
    [`sqlite:${file}`, async () => openSqliteTarget(file)],
    [url, () => openPostgresTarget(url)],
  ];
}

function fileOf(target: string): string {
  return target.slice('sqlite:'.length);
}

async function assertEmpty(target: string): Promise<void> {
  if (target.startsWith('sqlite:')) {
    assert.deepEqual(readdirSync(dirname(fileOf(target))), []);
    return;
  }
  const database = new URL(target).pathname.slice(1);
  const tables = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`;
  assert.deepEqual(await server.query(tables, database), []);
}

function newKey(name: string, now: Date, expiresAt?: Date) {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name, now, randomBytes, expiresAt });
}

async function fill(
  file: string,
): Promise<{ claim: IdempotencyClaim; claimedId: bigint; keyIds: string[] }> {
  const store = openSqliteStore(file, { identity: IDENTITY });
  const now = new Date();
  const keys = ['one', 'zwei 🐈', 'three'].map((name, index) =>
    newKey(name, now, index === 2 ? now : undefined),
  );
  // As if the others were made by rotations of the first.
  const firstKeyId = keys[0]?.id ?? '';
  for (const key of keys) await store.createApiKey({ ...key, firstKeyId });
  const keyIds = keys.map(({ id }) => id);
  await store.revokeApiKey(keyIds[1] ?? '', now);
  const use = { usedAt: now, deprecatedCallAt: new Date(now.getTime() - 1) };
  await store.recordKeyUse(new Map([[keyIds[2] ?? '', use]]));
  await createMany(store, ANIMALS - 3);
  const note = { source: 'a file 🐈', position: 12, lines: 2, imported: 1, skipped: 1 };
  await store.importPets([REX], { from: 0, to: note });
  const claims = ['first', 'second'].map((key) =>
    newIdempotencyClaim(key, REX, { apiKeyId: keyIds[0] ?? '', now }),
  );
  const creations = await Promise.all(claims.map((claim) => store.createPet(REX, claim)));
  await store.createPet(REX);
  await store.close();
  const [claim, creation] = [claims[0], creations[0]];
  assert.ok(claim !== undefined && creation?.kind === 'created');
  return { claim, claimedId: creation.pet.id, keyIds };
}

async function createMany(store: Store, count: number): Promise<void> {
  await store.importPets(
    Array.from({ length: count }, (_, index) => ({
      name: `${NAMES[index % NAMES.length]}${index}`,
      categoryId: [INT64_MIN, INT64_MAX, BigInt(index)][index % 3] ?? 0n,
      status: (['available', 'pending', 'sold'] as const)[index % 3] ?? 'sold',
    })),
  );
}

async function createAndClose(file: string, count: number): Promise<void> {
  const store = openSqliteStore(file, NEW_STORE);
  await createMany(store, count);
  await store.close();
}

function withoutUser(url: string): string {
  return url.replace(/\/\/.*@/, '//');
}

function newFile(): string {
  files += 1;
  return join(folder, `${files}`, 'petstore.sqlite');
}

/** Everything in a file, the schema too. */
function dump(file: string): unknown[] {
  const database = new DatabaseSync(file, { readBigInts: true });
  const rows = [
    'sqlite_schema ORDER BY name',
    'pets ORDER BY id',
    'api_keys ORDER BY id',
    'idempotency_keys ORDER BY api_key_id, key',
    'imports ORDER BY source',
    'sqlite_sequence',
    'store_identity',
  ].map((table) => {
    const columns = table.startsWith('sqlite_schema') ? 'name, sql' : '*';
    return database.prepare(`SELECT ${columns} FROM ${table}`).all();
  });
  database.close();
  return rows;
}

async function runHereAsIs(words: readonly string[]) {
  const written = { stdout: '', stderr: '' };
  const code = await executeOrExplain(COMMANDS, words, {
    env: {},
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
  });
  return { code, ...written };
}

function run(...args: string[]) {
  return runOn({}, ...args);
}

async function runOn(
  terminal: { isTTY?: boolean; write?: (text: string) => void },
  ...args: string[]
) {
  const written = { stdout: '', stderr: '' };
  const { words, variable } = withVariable(['copy', ...args]);
  const code = await execute(COMMANDS, words, {
    env: variable,
    stdout: { write: (text) => (written.stdout += text) },
    stderr: {
      isTTY: terminal.isTTY ?? false,
      write(text) {
        written.stderr += text;
        terminal.write?.(text);
      },
    },
  });
  return { code, ...written };
}
