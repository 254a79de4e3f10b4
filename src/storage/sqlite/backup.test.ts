import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, test } from 'node:test';
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

  test('a file that another process is still writing is not called a backup', () => {
    using first = temporaryFile(`${target}.partial`);
    using second = temporaryFile(`${target}.partial`);
    assert.throws(() => first.publish(target), /^Refusal: Another program has replaced/);
    second.publish(target);
    assert.throws(() => second.publish(target), /backup\.sqlite exists: name a file/);
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
