import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, test } from 'node:test';
import { intercept, systemError } from '../../../harness/file-functions.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { newApiKey, newSecret, type ApiKey } from '../../domain/api-key.ts';
import type { Store } from '../../domain/store.ts';
import { newStoreIdentity } from '../../domain/store-identity.ts';
import { backUpStore } from './backup.ts';
import { openConnection } from '../sqlite/connection.ts';
import { pragma } from '../sqlite/query.ts';
import { restoreStore, type RestoreOptions } from './restore.ts';
import { openSqliteStore } from '../sqlite/store.ts';
import { verifySqlite } from './sqlite-verify.ts';

const REX = { name: 'Rex'.repeat(80), categoryId: 1n, status: 'available' } as const;

let folder: string;
let file: string;
let target: string;

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'petstore.sqlite');
  target = join(folder, 'backup.sqlite');
});

async function withStore<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = openSqliteStore(file, { identity: newIdentity() });
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

const addKeys = (...keys: ApiKey[]) =>
  withStore(async (store) => {
    for (const key of keys) await store.createApiKey(key);
  });

/** Changes a file as another program does. */
function change(name: string, sql: string): void {
  using database = new DatabaseSync(name);
  database.exec(sql);
}

/** Removes the store, with the id that stays beside it. */
function removeStore(): void {
  rmSync(file);
  rmSync(join(folder, 'petstore.store-id'), { force: true });
}

const backUp = (to = target, now = new Date()) => backUpStore(file, to, { regularAt: now });
const restore = (options: Partial<RestoreOptions> = {}) =>
  restoreStore(file, target, { idsAbove: 1_000_000n, ...options });
const newIdentity = () => newStoreIdentity('production', { now: new Date(), randomBytes });

/** When the file says that its last backup was made. */
function lastBackupAt(name: string): number | undefined {
  using database = new DatabaseSync(name);
  const row = database.prepare('SELECT last_backup_at AS ms FROM store_identity').get();
  return row?.['ms'] as number | undefined;
}

const filesOf = (path: string) =>
  readdirSync(path)
    .filter((name) => !name.endsWith('.store-id'))
    .toSorted();

function newKey(): ApiKey {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name: 'x', now: new Date(), randomBytes });
}

describe('backup', () => {
  test('during creates it ends, and has every animal that was acknowledged before it began', async () => {
    await createPets(20_000);
    await withStore(async (store) => {
      const load = { isEnded: false, acknowledged: 20_000n };
      const creating = Array.from({ length: 4 }, async () => {
        while (!load.isEnded) {
          const creation = await store.createPet(REX);
          if (creation.kind === 'created' && creation.pet.id > load.acknowledged) {
            load.acknowledged = creation.pet.id;
          }
        }
      });
      while (load.acknowledged < 20_100n) await sleep(1);
      const before = load.acknowledged;
      const steps: number[] = [];
      const { animals, lastId, problems } = await backUpStore(file, target, {
        onProgress: (done) => steps.push(done),
      });
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
    assert.deepEqual(filesOf(folder), ['backup.sqlite', 'petstore.sqlite']);
  });

  test('it is one file: its journal mode is not WAL, so that no tool needs a log beside it', async () => {
    await createPets(1);
    await backUpStore(file, target, {});
    // The versions for writing and for reading: 2 is WAL.
    const [ofStore, ofBackup] = [file, target].map((name) => [
      ...readFileSync(name).subarray(18, 20),
    ]);
    assert.deepEqual(ofStore, [2, 2]);
    assert.deepEqual(ofBackup, [1, 1]);
  });

  test('a file that exists is not overwritten', async () => {
    await createPets(1);
    writeFileSync(target, 'mine');
    await assert.rejects(backUp(), /backup\.sqlite exists: name a file/);
    assert.equal(statSync(target).size, 4);
  });

  test('of two backups to one target one is refused, and the other is complete', async () => {
    await createPets(2_000);
    for (let round = 0; round < 5; round += 1) {
      const settled = await Promise.allSettled([backUp(), backUp()]);
      const refusals = settled.flatMap((each) =>
        each.status === 'rejected' ? [each.reason as unknown] : [],
      );
      assert.match(String(refusals), /^StoreUnusable: \S+ exists: name a file/);
      assert.equal(verifySqlite(target).animals, 2_000);
      assert.deepEqual(filesOf(folder), ['backup.sqlite', 'petstore.sqlite']);
      rmSync(target);
    }
  });

  test('a file of the user is never removed, also one with the name that the backup would have meanwhile', async () => {
    await createPets(1);
    const partial = `${target}.${process.pid}.partial`;
    for (const suffix of ['', '-journal']) {
      writeFileSync(`${partial}${suffix}`, 'mine');
      await assert.rejects(backUp(), /partial\S* exists: name a file/);
      assert.equal(readFileSync(`${partial}${suffix}`, 'utf8'), 'mine');
      rmSync(`${partial}${suffix}`);
    }
    await backUp();
  });

  test('a run never touches the file of another one, whether that runs or was killed', async (t) => {
    await createPets(1);
    const script = new URL('new-file.ts', import.meta.url).href;
    const child = spawn(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { temporaryFile } from ${JSON.stringify(script)};
       globalThis.made = temporaryFile(${JSON.stringify(target)});
       console.log('made');
       setInterval(() => undefined, 1_000);`,
    ]);
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const files = ['backup.sqlite', `backup.sqlite.${child.pid}.partial`, 'petstore.sqlite'];
    for (const isKilled of [false, true]) {
      if (isKilled) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await backUp();
      assert.deepEqual(filesOf(folder), files);
      rmSync(target);
    }
  });

  test('a name that SQLite would take for a log, and a folder that does not exist, are refused', async () => {
    await createPets(1);
    for (const suffix of ['-wal', '-shm', '-journal']) {
      await assert.rejects(backUp(`${target}${suffix}`), /taken for a log/);
    }
    const elsewhere = join(folder, 'missing', 'backup.sqlite');
    await assert.rejects(backUp(elsewhere), /there is no folder .*missing: create/);
    assert.deepEqual(filesOf(folder), ['petstore.sqlite']);
  });

  test('a file that appears while the backup is made is not replaced', async () => {
    await createPets(2_000);
    const onProgress = () => writeFileSync(target, 'mine');
    await assert.rejects(
      backUpStore(file, target, { onProgress }),
      /backup\.sqlite exists: name a file/,
    );
    assert.equal(readFileSync(target, 'utf8'), 'mine');
    assert.deepEqual(filesOf(folder), ['backup.sqlite', 'petstore.sqlite']);
  });

  test('the time of a regular backup is in the backup and in its store, and that of another is not', async () => {
    await createPets(1);
    const other = join(folder, 'other.sqlite');
    await backUpStore(file, other, {});
    assert.deepEqual([lastBackupAt(other), lastBackupAt(file)], [null, null]);
    const now = new Date();
    assert.equal((await backUp(target, now)).isRecorded, true);
    assert.deepEqual([lastBackupAt(target), lastBackupAt(file)], [now.getTime(), now.getTime()]);
  });

  test('it is complete also if its time cannot be written into the store', async () => {
    await createPets(2_000);
    const { isRecorded, animals } = await backUpStore(file, target, {
      regularAt: new Date(),
      onProgress: () =>
        change(
          file,
          `CREATE TRIGGER IF NOT EXISTS refuse BEFORE UPDATE ON store_identity
           BEGIN SELECT RAISE(ABORT, 'refused'); END`,
        ),
    });
    assert.deepEqual([isRecorded, animals], [false, 2_000]);
    assert.equal(lastBackupAt(file), null);
  });

  test('the figures of a store tell the size of its log and of its disk, and its last backup', async () => {
    const now = new Date();
    const store = openSqliteStore(file, { identity: newIdentity() });
    await store.createPet(REX);
    const figures = () =>
      Object.fromEntries(store.figures().map(({ name, values }) => [name, values[0]?.value]));
    const before = figures();
    assert.equal(before['petstore_wal_size_bytes'], statSync(`${file}-wal`).size);
    const { blocks, bsize } = statfsSync(folder);
    assert.equal(before['petstore_disk_size_bytes'], blocks * bsize);
    const freeBytes = before['petstore_disk_free_bytes'] ?? 0;
    assert.ok(freeBytes > 0 && freeBytes % bsize === 0, `${freeBytes} bytes`);
    assert.ok(!('petstore_last_backup_timestamp_seconds' in before));
    await backUp(target, now);
    assert.equal(figures()['petstore_last_backup_timestamp_seconds'], now.getTime() / 1_000);
    rmSync(`${file}-wal`);
    assert.equal(figures()['petstore_wal_size_bytes'], 0);
    assert.ok('petstore_writes_waiting' in figures());
    await store.close();
  });

  test('a store with a view of somebody else and a broken rule is backed up with its problems, and restore refuses that', async () => {
    await createPets(3);
    change(file, 'CREATE VIEW cheap AS SELECT * FROM pets');
    change(file, "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'pets'");
    const problems = [
      "the view cheap is not the pet store's: remove it",
      'animals with an id that was never assigned: 2 (the first is 2)',
    ];
    assert.deepEqual((await backUp()).problems, problems);
    const message = `${target} cannot be restored: ${problems.join('; ')}.`;
    await assert.rejects(restore({ idsAbove: 1n }), { message });
  });

  test('a damaged store is not backed up', async () => {
    await createPets(3);
    // The index says what the table does not.
    const bytes = readFileSync(file);
    bytes.write('x', bytes.lastIndexOf('available'));
    writeFileSync(file, bytes);
    await assert.rejects(backUp(), /petstore\.sqlite is damaged: /);
    assert.deepEqual(filesOf(folder), ['petstore.sqlite']);
  });
});

const BROKEN_RULE = "UPDATE sqlite_sequence SET seq = 6 WHERE name = 'pets'";

async function replaceByOther(): Promise<void> {
  removeStore();
  await createPets(20);
}

describe('restore', () => {
  test('an id that was assigned after the backup is not assigned again', async () => {
    await createPets(5);
    await backUp();
    await createPets(7);
    await assert.rejects(
      restore({ idsAbove: 11n }),
      /cannot begin above 11: name an id from 12 to/,
    );
    const { setAside, isPastKnown, verification } = await restore({ idsAbove: undefined });
    assert.equal(isPastKnown, true);
    assert.equal(verification.animals, 5);
    assert.equal(await nextId(), 13n);
    assert.equal(verifySqlite(setAside ?? '').animals, 12, 'the former file is kept');
  });

  test('without the former file the id above which new ones begin must be named, and the last one of the backup is accepted', async () => {
    await createPets(5);
    await backUp();
    rmSync(file);
    const idFile = join(folder, 'petstore.store-id');
    const id = readFileSync(idFile, 'utf8');
    rmSync(idFile);
    const unknown = {
      name: 'StoreUnusable',
      reason: 'there is no intact former file',
      lastIdOfBackup: 5n,
    };
    await assert.rejects(restore({ idsAbove: undefined }), unknown);
    await assert.rejects(restore({ idsAbove: 4n }), /cannot begin above 4: name an id from 5 to/);
    const most = 2n ** 63n - 1n - 1_000_000n;
    await assert.rejects(restore({ idsAbove: most + 1n }), new RegExp(`from 5 to ${most}\\.`));
    assert.deepEqual(filesOf(folder), ['backup.sqlite']);
    assert.equal((await restore({ idsAbove: 5n })).isPastKnown, false);
    assert.equal(readFileSync(idFile, 'utf8'), id, 'the restored store is the same store');
    assert.equal(await nextId(), 6n);
    rmSync(file);
    await restore({ idsAbove: 41n });
    assert.equal(await nextId(), 42n);
  });

  for (const [what, replace, reason] of [
    ['of another store', replaceByOther, /the former file is of another store/],
    ['older than the backup', () => copyFileSync(`${file}.older`, file), /not newer than the ba/],
    ['that breaks a rule', () => change(file, BROKEN_RULE), /there is no intact former file/],
    ['that is damaged', () => writeFileSync(file, Buffer.alloc(100_000, 7)), /no intact former/],
    ['that is empty', () => writeFileSync(file, ''), /there is no intact former file/],
  ] as const) {
    test(`a file ${what} is not the past of the restored one, and is kept`, async () => {
      await createPets(5);
      copyFileSync(file, `${file}.older`);
      await createPets(5);
      await backUp();
      await createPets(7);
      await replace();
      const { size } = statSync(file);
      await assert.rejects(restore({ idsAbove: undefined }), reason);
      const { setAside, isPastKnown } = await restore({ idsAbove: 10n });
      assert.equal(isPastKnown, false);
      assert.equal(statSync(setAside ?? '').size, size);
      assert.equal(await nextId(), 11n);
    });
  }

  test('a copy that was put in place by hand is not the past, and the keys of both are united', async () => {
    const [revoked, ended] = [newKey(), newKey()];
    const now = new Date();
    await addKeys(revoked, ended);
    await createPets(5);
    await backUp();
    // The ids 6 and 7 are assigned and a key is revoked, and then the disk is lost.
    await createPets(2);
    await withStore((store) => store.revokeApiKey(revoked.id, now));
    copyFileSync(target, file);
    await withStore((store) => store.revokeApiKey(ended.id, now));
    await assert.rejects(restore({ idsAbove: undefined }), /not newer than the backup/);
    assert.equal((await restore({ idsAbove: 7n })).isPastKnown, false);
    assert.equal(await nextId(), 8n);
    const keys = await withStore((store) => store.listApiKeys());
    const revokedAt = (id: string) => keys.find((key) => key.id === id)?.revokedAt;
    assert.equal(keys.length, 2);
    assert.deepEqual([revokedAt(revoked.id), revokedAt(ended.id)], [undefined, now]);
  });

  test('a key that is in both files ends at the earlier end, and is revoked if either says so', async () => {
    const [early, late] = [new Date(1_000), new Date(2_000)];
    const ends = [
      [undefined, early, early],
      [early, undefined, early],
      [late, early, early],
      [early, late, early],
      [undefined, undefined, undefined],
    ] as const;
    const keys = ends.map(() => newKey());
    await addKeys(...keys);
    await backUp();
    const write = (name: string, side: 0 | 1) => {
      using database = new DatabaseSync(name);
      const set = database.prepare(
        'UPDATE api_keys SET expires_at = ?, revoked_at = ? WHERE id = ?',
      );
      for (const [index, { id }] of keys.entries()) {
        const ms = ends[index]?.[side]?.getTime() ?? null;
        set.run(ms, ms, id);
      }
    };
    write(target, 0);
    write(file, 1);
    await createPets(1);
    await restore({ idsAbove: undefined });
    const found = await withStore((store) => store.listApiKeys());
    for (const [index, { id }] of keys.entries()) {
      const { expiresAt, revokedAt } = found.find((key) => key.id === id) ?? newKey();
      const expected = ends[index]?.[2];
      assert.deepEqual([expiresAt, revokedAt], [expected, expected], `key ${index}`);
    }
  });

  test('a key that was revoked, rotated or created after the backup is as it was', async () => {
    const [revoked, rotated, later] = [newKey(), newKey(), newKey()];
    const now = new Date();
    await addKeys(revoked, rotated);
    await backUp();
    await withStore(async (store) => {
      await store.revokeApiKey(revoked.id, now);
      await store.rotateApiKey(rotated.id, now, later);
    });
    const expected = await withStore((store) => store.listApiKeys());
    await restore();
    assert.deepEqual(await withStore((store) => store.listApiKeys()), expected);
  });

  test('of another store, no key gets into the restored one', async () => {
    const [mine, theirs] = [newKey(), newKey()];
    await addKeys(mine);
    await backUp();
    removeStore();
    await addKeys(theirs);
    await restore();
    assert.deepEqual(await withStore((store) => store.listApiKeys()), [mine]);
  });

  for (const state of ['missing', 'damaged'] as const) {
    test(`the log of a former file that is ${state} never reaches the restored one`, async () => {
      await createPets(5);
      await backUp();
      await withStore(async (store) => {
        for (let count = 0; count < 3; count += 1) await store.createPet(REX);
        copyFileSync(`${file}-wal`, `${file}-kept`);
      });
      rmSync(file);
      if (state === 'damaged') writeFileSync(file, Buffer.alloc(50_000, 7));
      for (const suffix of ['-wal', '-journal']) copyFileSync(`${file}-kept`, `${file}${suffix}`);
      await restore();
      for (const suffix of ['-wal', '-journal']) {
        assert.equal(existsSync(`${file}${suffix}`), false);
      }
      // SQLite applies a log to the damaged file beside it.
      if (state === 'missing') assert.ok(existsSync(`${file}.before-restore-1-wal`));
      assert.deepEqual(verifySqlite(file).animals, 5);
    });
  }

  test('a backup or a former file of another environment is refused, and nothing is changed', async () => {
    await createPets(5);
    await backUp();
    await assert.rejects(
      restore({ environment: 'staging' }),
      /backup\.sqlite is a production store, and the environment is staging/,
    );
    await assert.rejects(
      backUpStore(file, `${target}-2`, { environment: 'staging' }),
      /petstore\.sqlite is a production store/,
    );
    assert.deepEqual(filesOf(folder), ['backup.sqlite', 'petstore.sqlite']);
    const options = { now: new Date(), randomBytes };
    file = join(folder, 'staging.sqlite');
    await openSqliteStore(file, { identity: newStoreIdentity('staging', options) }).close();
    await assert.rejects(
      restore({ environment: 'production' }),
      /staging\.sqlite is a staging store, and the environment is production/,
    );
  });

  test('at no moment is there no file at the path, where a start would find none', async (t) => {
    await createPets(2);
    await backUp();
    const isThere: boolean[] = [];
    intercept(t, 'renameSync', (rename, from, to) => {
      rename(from, to);
      isThere.push(existsSync(file));
    });
    await restore();
    assert.ok(isThere.length > 0 && !isThere.includes(false));
  });

  test('without links, no start begins an empty store while the file is replaced', async (t) => {
    await createPets(2);
    await backUp();
    const refusals: string[] = [];
    intercept(t, 'linkSync', () => {
      throw systemError('EPERM');
    });
    intercept(t, 'renameSync', (rename, from, to) => {
      rename(from, to);
      if (existsSync(file)) return;
      try {
        void openSqliteStore(file, NEW_STORE).close();
      } catch (error) {
        refusals.push(String(error));
      }
    });
    await restore();
    assert.match(refusals.join(), /^StoreFault: store \w{16} was here, and \S+ is missing/);
    assert.equal(verifySqlite(file).animals, 2);
  });

  test('through a symbolic link it replaces the file, and a link that leads nowhere is refused and stays', async () => {
    await createPets(5);
    await backUp();
    const there = join(folder, 'disk', 'petstore.sqlite');
    mkdirSync(join(folder, 'disk'));
    renameSync(file, there);
    symlinkSync(there, file);
    await restore();
    assert.equal(readlinkSync(file), there);
    assert.equal(verifySqlite(there).animals, 5);
    renameSync(join(folder, 'disk'), join(folder, 'away'));
    await assert.rejects(restore(), {
      name: 'StoreFault',
      message: `${file} is a symbolic link to a file that is missing: mount its disk, or remove the link.`,
    });
    assert.equal(readlinkSync(file), there);
  });

  test('while a service has the store open, nothing is changed', async () => {
    await createPets(5);
    await backUp();
    await withStore(async (store) => {
      await assert.rejects(restore(), /petstore\.sqlite is in use: stop every service/);
      assert.equal((await store.createPet(REX)).kind, 'created');
    });
    assert.equal(verifySqlite(file).animals, 6);
  });

  test('an empty, a truncated, a foreign and a missing backup are refused, and the store stays as it is', async () => {
    await createPets(2_000);
    await backUp();
    truncateSync(target, statSync(target).size / 2);
    await assert.rejects(restore(), /backup\.sqlite is damaged/);
    truncateSync(target);
    await assert.rejects(restore(), /backup\.sqlite is empty/);
    rmSync(target);
    await assert.rejects(restore(), /there is no file .*backup\.sqlite/);
    mkdirSync(target);
    await assert.rejects(restore(), /there is no file .*backup\.sqlite/);
    rmdirSync(target);
    change(target, 'CREATE TABLE other (x)');
    await assert.rejects(restore(), /belongs to another program/);
    writeFileSync(target, 'not a database, but some text');
    await assert.rejects(restore(), /backup\.sqlite is damaged/);
    assert.equal(verifySqlite(file).animals, 2_000);
    assert.deepEqual(filesOf(folder), ['backup.sqlite', 'petstore.sqlite']);
  });

  test('a backup with a part of somebody else that changes what statements do is refused', async () => {
    await createPets(5);
    await backUp();
    change(
      target,
      'CREATE TABLE mine (x); CREATE TRIGGER t AFTER INSERT ON pets BEGIN SELECT 1; END',
    );
    await assert.rejects(restore(), /the trigger t of pets is not the pet store's: remove it\.$/);
    assert.equal(verifySqlite(file).animals, 5);
    change(target, 'DROP TRIGGER t');
    assert.deepEqual((await restore()).verification.warnings, [
      "the table mine is not the pet store's",
    ]);
  });

  test('a view in the former file hides neither its last id nor the keys that it ended', async () => {
    await createPets(5);
    await backUp();
    await createPets(1);
    change(file, 'CREATE VIEW mine AS SELECT * FROM pets');
    assert.equal((await restore({ idsAbove: undefined })).verification.lastId, 6n);
  });
});

test('verify names each rule that a catalogue breaks', async () => {
  await createPets(3);
  change(file, "UPDATE pets SET name = '' WHERE id > 1");
  assert.deepEqual(verifySqlite(file).problems, [
    'animals with a name that is not 1 to 255 characters long: 2 (the first is 2)',
  ]);
});

test('no connection trusts what triggers and views of a file call', async () => {
  await createPets(1);
  using database = openConnection(file);
  assert.equal(pragma(database, 'trusted_schema'), 0n);
});

test('verify names a file that SQLite cannot read', async () => {
  await createPets(1_000);
  truncateSync(file, 40_000);
  assert.throws(() => verifySqlite(file), /petstore\.sqlite is damaged: restore another backup/);
  truncateSync(file);
  assert.throws(() => verifySqlite(file), /petstore\.sqlite is empty/);
});
