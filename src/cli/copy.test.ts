import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { PostgresServer } from '../../test/postgres-server.ts';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import { newIdempotencyClaim, type IdempotencyClaim } from '../domain/idempotency.ts';
import { INT64_MAX, INT64_MIN } from '../domain/int64.ts';
import type { NewPet } from '../domain/pet.ts';
import { StoreUnusable, type Store } from '../domain/store.ts';
import { copyCatalogue, CopyRefused, TABLES, type CopyTarget } from '../storage/copy.ts';
import { openPostgresSource, openPostgresTarget } from '../storage/postgres/copy.ts';
import { openPostgresStore } from '../storage/postgres/store.ts';
import { openSqliteSource, openSqliteTarget } from '../storage/sqlite/copy.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
const NAMES = ['Rex', '🐈‍⬛ "\\', "'; --", '{NULL}', 'line\nbreak\t', '\u{10ffff}', 'é e\u0301'];
const ANIMALS = 5_003;

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
  folder = await mkdtemp(join(tmpdir(), 'petstore-copy-'));
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

test('a catalogue goes from SQLite to PostgreSQL and back, and is the same', async () => {
  const [here, database, back] = [newFile(), await server.createDatabase(), newFile()];
  const filled = await fill(here);
  // Ids of removed animals must not be given again, and their claims stay.
  const source = openSqliteStore(here);
  for (const day of ['2026-11-14', '2026-11-15']) {
    await source.recordDeprecatedCalls(new Map([['key_a', 3]]), new Date(day));
  }
  await source.setPetStatus([1n], 'pending');
  await source.removePets([filled.claimedId, BigInt(ANIMALS + 1)]);
  await source.close();

  const there = await run('--from', `sqlite:${here}`, '--to', server.url(database));
  assert.deepEqual([there.code, there.stderr], [0, '']);
  const again = await run('--from', server.url(database), '--to', `sqlite:${back}`);
  assert.deepEqual([again.code, again.stderr], [0, '']);
  const left = ANIMALS - 1;
  assert.equal(again.stdout, there.stdout);
  const asJson = await run('--from', `sqlite:${here}`, '--to', `sqlite:${newFile()}`, '--json');
  const compared = JSON.parse(asJson.stdout) as Record<'source' | 'target', object>;
  assert.deepEqual(compared.source, compared.target);
  assert.deepEqual(Object.keys(compared.source), [
    'animals',
    'keys',
    'claims',
    'imports',
    'calls',
    'lastId',
  ]);
  assert.match(asJson.stdout, /"lastId":\d+\}\}\n$/);
  assert.match(there.stdout, new RegExp(`^animals +${left} +${left} +(\\w{64}) +\\1$`, 'm'));
  assert.match(there.stdout, /^keys +3 +3 /m);
  assert.match(there.stdout, /^claims +2 +2 /m);
  assert.match(there.stdout, /^imports +1 +1 /m);
  assert.match(there.stdout, /^calls +2 +2 /m);
  assert.match(there.stdout, /^last id +5004 +5004$/m);
  assert.deepEqual(dump(back), dump(here));

  for (const store of [await openPostgresStore(server.url(database)), openSqliteStore(back)]) {
    const replayed = await store.createPet(REX, filled.claim);
    assert.deepEqual(replayed, { kind: 'replayed', pet: { ...REX, id: filled.claimedId } });
    const created = await store.createPet(REX);
    assert.equal(created.kind === 'created' && created.pet.id, 5_005n);
    await store.close();
  }
});

test('a copy that was interrupted goes on where it stopped, with what the source has become', async () => {
  const here = newFile();
  const { keyIds } = await fill(here);
  const url = server.url(await server.createDatabase());
  const options = { sourceName: `sqlite:${here}`, onProgress: () => undefined };
  const attempt = async (harm: (target: CopyTarget) => CopyTarget) => {
    const [source, target] = [openSqliteSource(here), await openPostgresTarget(url)];
    try {
      await copyCatalogue(source, harm(target), options);
    } finally {
      await source.close();
      await target.close();
    }
  };

  let pages = 0;
  const afterOnePage = (target: CopyTarget): CopyTarget => ({
    ...target,
    write(table, rows) {
      pages += 1;
      if (pages > 1) throw new Error('interrupted');
      return target.write(table, rows);
    },
  });
  await assert.rejects(attempt(afterOnePage), { message: 'interrupted' });
  // What is unfinished is served by nobody.
  await assert.rejects(openPostgresStore(url), StoreUnusable);

  await assert.rejects(attempt(atTheEnd), { message: 'interrupted' });
  await assert.rejects(openPostgresStore(url), StoreUnusable);

  const store = openSqliteStore(here);
  await store.createPet({ ...REX, name: 'late' });
  await store.revokeApiKey(keyIds[0] ?? '', new Date());
  await store.close();
  const finished = await run('--from', `sqlite:${here}`, '--to', url);
  assert.equal(finished.code, 0, finished.stderr);

  const back = newFile();
  assert.equal((await run('--from', url, '--to', `sqlite:${back}`)).code, 0);
  assert.deepEqual(dump(back), dump(here));
});

test('a copy is one moment of its source, whatever is written meanwhile', async () => {
  const database = await server.createDatabase();
  const store = await openPostgresStore(server.url(database));
  await createMany(store, 4_000);
  const source = await openPostgresSource(server.url(database));
  await createMany(store, 10);
  const file = newFile();
  const target = openSqliteTarget(file);
  const found = await copyCatalogue(source, target, {
    sourceName: 'here',
    onProgress: () => void store.createPet(REX),
  });
  assert.equal(found.target.animals.count, 4_000);
  assert.equal(found.target.lastId, 4_000n);
  await source.close();
  await target.close();
  await store.close();
});

test('a target that holds other data is refused and left alone', async () => {
  const [here, there] = [newFile(), newFile()];
  await fill(here);
  const store = openSqliteStore(there);
  await store.createPet(REX);
  await store.close();
  const untouched = dump(there);
  const refused = await run('--from', `sqlite:${here}`, '--to', `sqlite:${there}`);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^petstore: .*the target holds other data.*\n$/);
  assert.equal(refused.stdout, '');
  assert.deepEqual(dump(there), untouched);
});

test('an unfinished copy of another source, or of one that has another beginning, is refused', async () => {
  const [here, other, there] = [newFile(), newFile(), newFile()];
  for (const file of [here, other]) await createAndClose(file, 3);
  const target = openSqliteTarget(there);
  await target.mark(`sqlite:${here}`);
  await target.write(TABLES.animals, [
    [1n, 'Rex', 7n, 'available'],
    [2n, 'Max', 7n, 'available'],
  ]);
  await target.close();

  const ofOther = await run('--from', `sqlite:${other}`, '--to', `sqlite:${there}`);
  assert.equal(ofOther.code, 1);
  assert.match(ofOther.stderr, /unfinished copy of sqlite:/);
  const different = await run('--from', `sqlite:${here}`, '--to', `sqlite:${there}`);
  assert.equal(different.code, 1);
  assert.match(different.stderr, /does not hold the beginning of the source/);
  // Nor can it be copied further.
  const further = await run('--from', `sqlite:${there}`, '--to', `sqlite:${newFile()}`);
  assert.match(further.stderr, /the source is itself an unfinished copy/);
});

test('a copy that comes out different is not finished', async () => {
  const [here, there] = [newFile(), newFile()];
  await createAndClose(here, 3);
  const [source, target] = [openSqliteSource(here), openSqliteTarget(there)];
  const careless: CopyTarget = {
    ...target,
    write: (table, rows) => target.write(table, rows.slice(1)),
  };
  const options = { sourceName: 'here', onProgress: () => undefined };
  await assert.rejects(copyCatalogue(source, careless, options), CopyRefused);
  await source.close();
  await target.close();
  assert.throws(() => openSqliteStore(there), StoreUnusable);
});

test('a database that goes away during a copy is told in one line, and the copy can go on', async () => {
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
    cut.stderr,
    /petstore: .*the copy stopped \(.*\): run the same command again to continue\.\n$/,
  );
  assert.equal((await run('--from', `sqlite:${here}`, '--to', url)).code, 0);
});

test('what makes no sense is told in one line', async () => {
  for (const args of [
    [],
    ['--from', 'sqlite:a'],
    ['--from', 'sqlite:', '--to', 'sqlite:b'],
    ['--from', 'mysql://x', '--to', 'sqlite:b'],
    ['--from', 'sqlite:a', '--to', 'sqlite:./a'],
    ['--from', 'sqlite:a', '--to', 'sqlite:b', '--fast'],
    ['--from', 'postgres://host', '--to', 'sqlite:b'],
    ['--from', `sqlite:${join(folder, 'missing')}`, '--to', 'sqlite:b'],
  ]) {
    await assert.rejects(run(...args), (error: unknown) => {
      assert.ok(error instanceof Error);
      assert.match(error.name, /^(UsageError|StoreUnusable)$/, `${args.join(' ')}: ${error.stack}`);
      assert.ok(!error.message.includes('\n'));
      return true;
    });
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
  assert.ok(watched.stderr.endsWith('\r\u001b[K'));
  assert.doesNotMatch(watched.stdout, /%/);
});

/** A target that dies between the last write and the commit. */
function atTheEnd(target: CopyTarget): CopyTarget {
  return {
    ...target,
    finish: (work) =>
      target.finish(async (writer) => {
        await work(writer);
        throw new Error('interrupted');
      }),
  };
}

async function fill(
  file: string,
): Promise<{ claim: IdempotencyClaim; claimedId: bigint; keyIds: string[] }> {
  const store = openSqliteStore(file);
  const now = new Date();
  const keys = ['one', 'zwei 🐈', 'three'].map((name, index) => {
    const secret = newSecret('production', randomBytes);
    const expiresAt = index === 2 ? now : undefined;
    return newApiKey({ secret, name, now, randomBytes, expiresAt }).record;
  });
  for (const key of keys) await store.createApiKey(key);
  const keyIds = keys.map(({ id }) => id);
  await store.revokeApiKey(keyIds[1] ?? '', now);
  await store.recordKeyUse(new Map([[keyIds[2] ?? '', now]]));
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
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      store.createPet({
        name: `${NAMES[index % NAMES.length]}${index}`,
        categoryId: [INT64_MIN, INT64_MAX, BigInt(index)][index % 3] ?? 0n,
        status: (['available', 'pending', 'sold'] as const)[index % 3] ?? 'sold',
      }),
    ),
  );
}

async function createAndClose(file: string, count: number): Promise<void> {
  const store = openSqliteStore(file);
  await createMany(store, count);
  await store.close();
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
    'deprecated_calls ORDER BY api_key_id, day',
    'sqlite_sequence',
  ].map((table) => {
    const columns = table.startsWith('sqlite_schema') ? 'name, sql' : '*';
    return database.prepare(`SELECT ${columns} FROM ${table}`).all();
  });
  database.close();
  return rows;
}

function run(...args: string[]) {
  return runOn({}, ...args);
}

async function runOn(
  terminal: { isTTY?: boolean; write?: (text: string) => void },
  ...args: string[]
) {
  const written = { stdout: '', stderr: '' };
  const code = await execute(COMMANDS, ['copy', ...args], {
    env: {},
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
