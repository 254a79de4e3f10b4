import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs, {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, test, type TestContext } from 'node:test';
import { newApiKey, newSecret } from '../../domain/api-key.ts';
import type { Store } from '../../domain/store.ts';
import { backUpStore } from './backup.ts';
import { temporaryFile } from './new-file.ts';
import { restoreStore } from './restore.ts';
import { openSqliteStore } from './store.ts';
import { verifySqlite } from './verify.ts';

const ignore = () => undefined;
const REX = { name: 'Rex'.repeat(80), categoryId: 1n, status: 'available' } as const;

let folder: string;
let file: string;
let target: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-backup-'));
  file = join(folder, 'petstore.sqlite');
  target = join(folder, 'backup.sqlite');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function withStore<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = openSqliteStore(file);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const createPets = (count: number) =>
  withStore(async (store) => {
    await store.importPets(Array.from({ length: count }, () => REX));
  });

const nextId = () =>
  withStore(async (store) => {
    const creation = await store.createPet(REX);
    return creation.kind === 'created' ? creation.pet.id : undefined;
  });

type FileFunction = 'openSync' | 'fsyncSync' | 'linkSync';

/** Calls `replacement` in place of a function of node:fs, for all modules, until the test ends. */
function intercept<Name extends FileFunction>(
  t: TestContext,
  name: Name,
  replacement: (
    original: (typeof fs)[Name],
    ...values: Parameters<(typeof fs)[Name]>
  ) => ReturnType<(typeof fs)[Name]>,
): void {
  const original = fs[name];
  const set = (value: unknown) => {
    Object.assign(fs, { [name]: value });
    syncBuiltinESMExports();
  };
  set((...values: Parameters<(typeof fs)[Name]>) => replacement(original, ...values));
  t.after(() => set(original));
}

/** As on FAT. */
function withoutLinks(t: TestContext): void {
  intercept(t, 'linkSync', () => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
  });
}

/** Turns a store into one of version 1.1.0, which had five migrations. */
function makeOlder(name: string): void {
  using database = new DatabaseSync(name);
  database.exec(
    'DROP TABLE store_identity; ALTER TABLE api_keys DROP COLUMN first_key_id; PRAGMA user_version = 5',
  );
}

function schemaOf(name: string): unknown[] {
  using database = new DatabaseSync(name);
  return database.prepare('SELECT sql FROM sqlite_schema ORDER BY sql').all();
}

const restore = (idsAbove?: bigint) => restoreStore(file, target, { idsAbove, onProgress: ignore });

describe('backup', () => {
  test('during creates it ends, and has every animal that was acknowledged before it began', async () => {
    await createPets(50_000);
    await withStore(async (store) => {
      const load = { isEnded: false, acknowledged: 50_000n };
      const creating = Array.from({ length: 4 }, async () => {
        while (!load.isEnded) {
          const creation = await store.createPet(REX);
          if (creation.kind === 'created' && creation.pet.id > load.acknowledged) {
            load.acknowledged = creation.pet.id;
          }
        }
      });
      while (load.acknowledged < 50_100n) await sleep(1);
      const before = load.acknowledged;
      const steps: number[] = [];
      const { animals, lastId, problems } = await backUpStore(file, target, (done) =>
        steps.push(done),
      );
      load.isEnded = true;
      await Promise.all(creating);
      assert.deepEqual(problems, []);
      assert.equal(BigInt(animals), lastId);
      assert.ok(lastId >= before);
      assert.deepEqual(
        steps,
        steps.toSorted((one, other) => one - other),
        'it never starts again',
      );
    });
    assert.equal(statSync(target).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder).toSorted(), ['backup.sqlite', 'petstore.sqlite']);
  });

  test('a file that exists is not overwritten', async () => {
    await createPets(1);
    writeFileSync(target, 'mine');
    await assert.rejects(backUpStore(file, target, ignore), /backup\.sqlite exists: name a file/);
    assert.equal(statSync(target).size, 4);
  });

  test('of two backups to one target one is refused, and the other is complete', async () => {
    await createPets(2_000);
    for (let round = 0; round < 5; round += 1) {
      const settled = await Promise.allSettled([
        backUpStore(file, target, ignore),
        backUpStore(file, target, ignore),
      ]);
      const refusals = settled.flatMap((each) =>
        each.status === 'rejected' ? [each.reason as unknown] : [],
      );
      assert.match(String(refusals), /^StoreUnusable: \S+ exists: name a file/);
      assert.equal(verifySqlite(target).animals, 2_000);
      assert.deepEqual(readdirSync(folder).toSorted(), ['backup.sqlite', 'petstore.sqlite']);
      rmSync(target);
    }
  });

  test('a file of the user is never removed, whatever its name', async () => {
    await createPets(1);
    const mine = ['', '-1', '-1-wal', '-2-journal'].map((end) => `${target}.partial${end}`);
    for (const each of mine) writeFileSync(each, 'mine');
    await backUpStore(file, target, ignore);
    await assert.rejects(backUpStore(file, target, ignore));
    for (const each of mine) assert.equal(readFileSync(each, 'utf8'), 'mine');
    assert.equal(readdirSync(folder).length, mine.length + 2);
  });

  test('a name that SQLite would take for a log, and a folder that does not exist, are refused', async () => {
    await createPets(1);
    for (const suffix of ['-wal', '-shm', '-journal']) {
      await assert.rejects(backUpStore(file, `${target}${suffix}`, ignore), /taken for a log/);
    }
    const elsewhere = join(folder, 'missing', 'backup.sqlite');
    await assert.rejects(
      backUpStore(file, elsewhere, ignore),
      /there is no folder .*missing: create/,
    );
    assert.deepEqual(readdirSync(folder), ['petstore.sqlite']);
  });

  test('the content of a backup is synced before it gets its name, and the name before it is reported', async (t) => {
    await createPets(1);
    const events: string[] = [];
    const opened = new Map<number, string>();
    intercept(t, 'openSync', (open, path, ...rest) => {
      const descriptor = open(path, ...rest);
      opened.set(descriptor, basename(String(path)));
      return descriptor;
    });
    intercept(t, 'fsyncSync', (sync, descriptor) => {
      events.push(`sync ${opened.get(descriptor)}`);
      sync(descriptor);
    });
    intercept(t, 'linkSync', (link, from, to) => {
      events.push(`link ${basename(String(from))} ${basename(String(to))}`);
      link(from, to);
    });
    await backUpStore(file, target, ignore);
    assert.deepEqual(events.slice(-3), [
      'sync backup.sqlite.partial-1',
      'link backup.sqlite.partial-1 backup.sqlite',
      `sync ${basename(folder)}`,
    ]);
  });

  test('on a file system without links it works too, and replaces no file', async (t) => {
    await createPets(3);
    withoutLinks(t);
    await backUpStore(file, target, ignore);
    assert.equal(verifySqlite(target).animals, 3);
    using late = temporaryFile(`${target}.late`);
    assert.throws(() => late.publish(target), /backup\.sqlite exists: name a file/);
    assert.equal(verifySqlite(target).animals, 3);
  });

  test('it keeps the schema of its store, which it does not change', async () => {
    await createPets(3);
    makeOlder(file);
    const older = schemaOf(file);
    await backUpStore(file, target, ignore);
    assert.deepEqual(schemaOf(file), older);
    assert.deepEqual(schemaOf(target), older);
  });

  test('a store that breaks a rule is not called a backup', async () => {
    await createPets(3);
    const database = new DatabaseSync(file);
    database.exec("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'pets'");
    database.close();
    await assert.rejects(
      backUpStore(file, target, ignore),
      /2 animals have an id that was never assigned/,
    );
    assert.deepEqual(readdirSync(folder), ['petstore.sqlite']);
  });
});

describe('restore', () => {
  test('an id that was assigned after the backup is not assigned again', async () => {
    await createPets(5);
    await backUpStore(file, target, ignore);
    await createPets(7);
    const { setAside, isPastKnown, verification } = await restore();
    assert.equal(isPastKnown, true);
    assert.equal(verification.animals, 5);
    assert.equal(await nextId(), 13n);
    assert.equal(verifySqlite(setAside ?? '').animals, 12, 'the former file is kept');
  });

  test('without the former file the ids continue 1,000,000 above the backup, or above a given id', async () => {
    await createPets(5);
    await backUpStore(file, target, ignore);
    rmSync(file);
    assert.equal((await restore()).isPastKnown, false);
    assert.equal(await nextId(), 1_000_006n);
    rmSync(file);
    await restore(41n);
    assert.equal(await nextId(), 42n);
  });

  test('a key that was revoked after the backup stays revoked', async () => {
    const now = new Date();
    const secret = newSecret('production', randomBytes);
    const record = newApiKey({
      secret,
      name: 'x',
      scopes: ['pets:read'],
      expiresAt: undefined,
      now,
      randomBytes,
    });
    await withStore((store) => store.createApiKey(record));
    await backUpStore(file, target, ignore);
    await withStore((store) => store.revokeApiKey(record.id, now));
    await restore();
    const [key] = await withStore((store) => store.listApiKeys());
    assert.deepEqual(key?.revokedAt, now);
  });

  test('while a service has the store open, nothing is changed', async () => {
    await createPets(5);
    await backUpStore(file, target, ignore);
    await withStore(async (store) => {
      await assert.rejects(restore(), /petstore\.sqlite is in use: stop every service/);
      assert.equal((await store.createPet(REX)).kind, 'created');
    });
    assert.equal(verifySqlite(file).animals, 6);
  });

  test('an empty, a truncated, a foreign and a missing backup are refused, and the store stays as it is', async () => {
    await createPets(20_000);
    await backUpStore(file, target, ignore);
    truncateSync(target, statSync(target).size / 2);
    await assert.rejects(restore(), /backup\.sqlite is damaged/);
    truncateSync(target);
    await assert.rejects(restore(), /backup\.sqlite is empty/);
    rmSync(target);
    await assert.rejects(restore(), /there is no file .*backup\.sqlite/);
    mkdirSync(target);
    await assert.rejects(restore(), /there is no file .*backup\.sqlite/);
    rmdirSync(target);
    const foreign = new DatabaseSync(target);
    foreign.exec('CREATE TABLE other (x)');
    foreign.close();
    await assert.rejects(restore(), /belongs to another program/);
    writeFileSync(target, 'not a database, but some text');
    await assert.rejects(restore(), /backup\.sqlite is damaged/);
    assert.equal(verifySqlite(file).animals, 20_000);
    assert.deepEqual(readdirSync(folder).toSorted(), ['backup.sqlite', 'petstore.sqlite']);
  });

  for (const [state, bytes] of [
    ['damaged', 100_000],
    ['empty', 0],
  ] as const) {
    test(`a store that is ${state} is replaced, and its file is kept`, async () => {
      await createPets(20_000);
      await backUpStore(file, target, ignore);
      writeFileSync(file, Buffer.alloc(bytes, 7));
      const { isPastKnown, setAside } = await restore();
      assert.equal(isPastKnown, false);
      assert.equal(statSync(setAside ?? '').size, bytes);
      assert.equal(await nextId(), 1_020_001n);
    });
  }
});

test('verify names each rule that a catalogue breaks', async () => {
  await createPets(3);
  const database = new DatabaseSync(file);
  database.exec("UPDATE pets SET name = '' WHERE id > 1");
  database.close();
  assert.deepEqual(verifySqlite(file).problems, [
    '2 animals have a name that is not 1 to 255 characters long (the first is 2)',
  ]);
});

test('verify names a file that SQLite cannot read', async () => {
  await createPets(1_000);
  truncateSync(file, 40_000);
  assert.throws(() => verifySqlite(file), /petstore\.sqlite is damaged: restore another backup/);
  truncateSync(file);
  assert.throws(() => verifySqlite(file), /petstore\.sqlite is empty/);
});
