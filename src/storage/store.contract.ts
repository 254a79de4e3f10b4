// What every store promises, as one suite. The test file of each store calls it and adds only its own tests.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { listPets } from '../../harness/list-pets.ts';
import { newApiKey, newSecret, type ApiKey } from '../domain/api-key.ts';
import { Refusal } from '../domain/errors.ts';
import { newIdempotencyClaim, type IdempotencyClaim } from '../domain/idempotency.ts';
import { INT64_MAX, INT64_MIN } from '../domain/int64.ts';
import { petJson } from '../domain/json.ts';
import { PET_STATUSES, type NewPet, type Pet } from '../domain/pet.ts';
import type { Creation, PetPage, Store } from '../domain/store.ts';
import type { Measured } from '../ops/metrics.ts';
import { changes } from './changes.contract.ts';
import { imports } from './import.contract.ts';

type MeasuredStore = Store & Measured;

/** A fresh, empty database of the store under test. */
export interface Subject {
  /** Opens a store on the database: once for a single process, more often for several. */
  open(): Promise<MeasuredStore>;
  /** How many transactions have stored animals so far. */
  countCommits(): Promise<number>;
  /** How many claims of creates are stored, expired ones too. */
  countClaims(): Promise<number>;
}

export interface Contract {
  newSubject(context: TestContext): Promise<Subject>;
  /** What a store does not do, each with its reason. */
  differences: {
    /** Why the store has no version; undefined if it has one. */
    noVersion: string | undefined;
  };
}

const NOW = new Date('2026-11-15T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

export function storeContract(name: string, contract: Contract): void {
  /** A test with one store open, and a way to open more. */
  function promise(
    title: string,
    keep: (store: MeasuredStore, more: Opened) => Promise<void>,
  ): void {
    test(title, async (context) => {
      const subject = await contract.newSubject(context);
      const open = async () => {
        const store = await subject.open();
        context.after(() => store.close());
        return store;
      };
      await keep(await open(), { open, subject });
    });
  }

  describe(`${name} › animals`, () => animals(promise));
  describe(`${name} › creates that happen once`, () => idempotency(promise));
  describe(`${name} › changes`, () => changes(promise));
  describe(`${name} › imports`, () => imports(promise));
  describe(`${name} › keys`, () => keys(promise));
  describe(`${name} › many at once`, () => concurrency(promise));
  describe(`${name} › version`, () => versions(promise, contract.differences.noVersion));
}

interface Opened {
  open: () => Promise<Store>;
  subject: Subject;
}

type PromiseOf = (
  title: string,
  keep: (store: MeasuredStore, more: Opened) => Promise<void>,
) => void;

function animals(promise: PromiseOf): void {
  promise('ids are given from 1 upwards, in the order of creation', async (store) => {
    for (const id of [1n, 2n, 3n]) assert.deepEqual(await create(store), { ...REX, id });
  });

  promise('an animal is found by its id, and an unknown id finds nothing', async (store) => {
    const pet = await create(store);
    const ids = [0n, -1n, pet.id, 2n, INT64_MIN, INT64_MAX, pet.id];
    const found = await Promise.all(ids.map((id) => store.findPet(id)));
    assert.deepEqual(
      found,
      ids.map((id) => (id === pet.id ? pet : undefined)),
    );
  });

  promise('every legal animal comes back exactly as it was sent', async (store) => {
    let afterId = 0n;
    const property = fc.asyncProperty(anyNewPet, async (sent) => {
      const created = await create(store, sent);
      assert.deepEqual(created, { ...sent, id: created.id });
      assert.deepEqual(await store.findPet(created.id), created);
      const page = await store.listPage({ status: sent.status, afterId, limit: 1 });
      assert.deepEqual(page, { json: `[${petJson(created)}]`, continuesAtId: undefined });
      afterId = created.id;
    });
    const examples = STRANGE_NAMES.flatMap((strange) =>
      [INT64_MIN, INT64_MAX].map((categoryId): [NewPet] => [{ ...REX, name: strange, categoryId }]),
    );
    await fc.assert(property, { numRuns: 50, examples });
  });

  promise('a page is ascending, starts after an id, and keeps to its status', async (store) => {
    const all: Pet[] = [];
    for (let index = 0; index < 30; index += 1) {
      const status = PET_STATUSES[index % PET_STATUSES.length] ?? 'sold';
      all.push(await create(store, { ...REX, status }));
    }
    const list = (status: NewPet['status'] | undefined, afterId: bigint, count: number) =>
      listPets(store, { status, afterId, count });
    assert.deepEqual(await list(undefined, 0n, 100), all);
    assert.deepEqual(await list(undefined, 5n, 10), all.slice(5, 15));
    assert.deepEqual(await list(undefined, INT64_MIN, 1), all.slice(0, 1));
    assert.deepEqual(await list(undefined, 30n, 10), []);
    assert.deepEqual(await list(undefined, INT64_MAX, 10), []);
    for (const status of PET_STATUSES) {
      const ofStatus = all.filter((pet) => pet.status === status);
      assert.deepEqual(await list(status, 0n, 100), ofStatus);
      assert.deepEqual(
        await list(status, 10n, 2),
        ofStatus.filter(({ id }) => id > 10n).slice(0, 2),
      );
    }
  });

  promise(
    'the pages back from the last one are those of the whole list, whatever was removed',
    async (store) => {
      const all: Pet[] = [];
      for (let index = 0; index < 60; index += 1) {
        const status = PET_STATUSES[((index * index) % 7) % PET_STATUSES.length] ?? 'sold';
        all.push(await create(store, { ...REX, status }));
      }
      const statuses = fc.constantFrom(undefined, ...PET_STATUSES);
      const property = fc.asyncProperty(
        statuses,
        fc.integer({ min: 1, max: 70 }),
        fc.option(fc.nat(), { nil: undefined, freq: 1 }),
        async (status, count, removed) => {
          if (removed !== undefined && all.length > 20) {
            const [gone] = all.splice(removed % all.length, 1);
            assert.deepEqual(await store.removePets(gone === undefined ? [] : [gone.id]), []);
          }
          const expected = all.filter((pet) => (status ?? pet.status) === pet.status);
          for (let upToId: bigint = INT64_MAX; ;) {
            const page = await listPets(store, { status, upToId, count });
            assert.deepEqual(page, expected.splice(-count));
            const [first] = page;
            if (first === undefined) break;
            upToId = first.id - 1n;
          }
        },
      );
      await fc.assert(property, { numRuns: 60 });
    },
  );

  promise('a page says where the walk goes on', async (store) => {
    const all: Pet[] = [];
    for (let index = 0; index < 30; index += 1) {
      const status = PET_STATUSES[index % PET_STATUSES.length] ?? 'sold';
      all.push(await create(store, { ...REX, name: `"${index}" {"id":7,\\`, status }));
    }
    for (const status of [undefined, ...PET_STATUSES]) {
      for (const limit of [1, 9, 10, 26, 29, 30, 100]) {
        const listed = all.filter((pet) => (status ?? pet.status) === pet.status);
        const after = listed.filter((pet) => pet.id > 4n);
        const shown = after.slice(0, limit);
        assert.deepEqual(
          await store.listPage({ status, afterId: 4n, limit }),
          pageOf(shown, after.length > limit ? shown.at(-1) : undefined),
        );
        for (const upToId of [INT64_MAX, 30n, 23n, 1n, 0n]) {
          const before = listed.filter((pet) => pet.id <= upToId);
          const last = before.slice(-limit);
          assert.deepEqual(
            await store.listPage({ status, upToId, limit }),
            pageOf(last, before.length > limit ? last[0] : undefined),
          );
        }
      }
    }
    for (const nowhere of [{ afterId: INT64_MAX }, { upToId: INT64_MIN }]) {
      const page = await store.listPage({ status: undefined, limit: 10, ...nowhere });
      assert.deepEqual(page, pageOf([], undefined));
    }
  });

  promise('what was acknowledged is there after closing and reopening', async (store, { open }) => {
    const claim = newClaim('once', REX, await createKey(store));
    const created = await Promise.all(Array.from({ length: 50 }, () => create(store)));
    const claimed = petOf(await store.createPet(REX, claim));
    await store.close();
    const reopened = await open();
    const stored = await listPets(reopened, { status: undefined, afterId: 0n, count: 100 });
    assert.deepEqual(stored, [...created, claimed].toSorted(byId));
    assert.deepEqual(await reopened.createPet(REX, claim), { kind: 'replayed', pet: claimed });
    assert.equal((await create(reopened)).id, 52n);
  });

  promise('a second close does nothing', async (store) => {
    await create(store);
    await store.close();
    await store.close();
  });

  promise('two closes at once both resolve, and later calls are refused', async (store) => {
    const creation = create(store);
    await Promise.all([store.close(), store.close()]);
    await creation;
    await assert.rejects(store.createPet(REX), { code: 'unavailable' });
    await assert.rejects(store.findPet(1n), { code: 'unavailable' });
  });

  promise('closing finishes what was accepted before', async (store, { open }) => {
    const creations = Array.from({ length: 50 }, () => create(store));
    await store.close();
    await Promise.all(creations);
    const reopened = await open();
    assert.equal(
      (await listPets(reopened, { status: undefined, afterId: 0n, count: 100 })).length,
      50,
    );
  });

  promise('ping resolves while the database responds', async (store) => {
    await store.ping();
  });
}

function idempotency(promise: PromiseOf): void {
  promise('a repeated create stores nothing and returns the first animal', async (store) => {
    const claim = newClaim('once', REX, await createKey(store));
    const first = await store.createPet(REX, claim);
    assert.deepEqual(first, { kind: 'created', pet: { ...REX, id: 1n } });
    for (let time = 0; time < 3; time += 1) {
      assert.deepEqual(await store.createPet(REX, claim), { kind: 'replayed', pet: petOf(first) });
    }
    assert.equal(await countPets(store), 1);
    assert.equal((await create(store)).id, 2n);
  });

  promise(
    'of concurrent duplicates one creates and all others replay it',
    async (store, { open }) => {
      const apiKey = await createKey(store);
      const stores = [store, await open(), await open()];
      for (let round = 0; round < 5; round += 1) {
        const claim = newClaim(`once-${round}`, REX, apiKey);
        const creations = await Promise.all(
          Array.from({ length: 60 }, (_, index) => storeAt(stores, index).createPet(REX, claim)),
        );
        assert.equal(creations.filter(({ kind }) => kind === 'created').length, 1);
        assert.equal(creations.filter(({ kind }) => kind === 'replayed').length, 59);
        assert.equal(new Set(creations.map((creation) => petOf(creation).id)).size, 1);
        assert.equal(await countPets(store), round + 1);
      }
    },
  );

  promise(
    'of 2,000 concurrent duplicates one creates, all others replay it, and none is refused',
    async (store) => {
      const claim = newClaim('once', REX, await createKey(store));
      const creations = await Promise.all(
        Array.from({ length: 2_000 }, () => store.createPet(REX, claim)),
      );
      assert.deepEqual(creations[0], { kind: 'created', pet: { ...REX, id: 1n } });
      for (const creation of creations.slice(1)) {
        assert.deepEqual(creation, { kind: 'replayed', pet: { ...REX, id: 1n } });
      }
      assert.equal(await countPets(store), 1);
    },
  );

  promise('expired claims are removed by later creates', async (store, { subject }) => {
    const apiKey = await createKey(store);
    for (const key of ['a', 'b', 'c', 'd']) await store.createPet(REX, newClaim(key, REX, apiKey));
    assert.equal(await subject.countClaims(), 4);
    const now = later(25 * HOUR_MS);
    for (const key of ['e', 'f']) await store.createPet(REX, newClaim(key, REX, apiKey, now));
    assert.equal(await subject.countClaims(), 2, 'only the new ones are left');
  });

  promise('the same claim with another animal is a conflict and stores nothing', async (store) => {
    const apiKey = await createKey(store);
    const max: NewPet = { ...REX, name: 'Max' };
    const first = await store.createPet(REX, newClaim('once', REX, apiKey));
    const conflict = { kind: 'claim_conflict' };
    assert.deepEqual(await store.createPet(max, newClaim('once', max, apiKey)), conflict);
    assert.equal(await countPets(store), 1);
    const again = await store.createPet(REX, newClaim('once', REX, apiKey));
    assert.deepEqual(again, { kind: 'replayed', pet: petOf(first) });
  });

  promise('concurrent creates of two animals under one claim store only one', async (store) => {
    const apiKey = await createKey(store);
    const max: NewPet = { ...REX, name: 'Max' };
    const kinds = await Promise.all(
      [REX, max, REX, max].map(
        async (pet) => (await store.createPet(pet, newClaim('once', pet, apiKey))).kind,
      ),
    );
    assert.deepEqual(kinds.toSorted(), ['claim_conflict', 'claim_conflict', 'created', 'replayed']);
    assert.equal(await countPets(store), 1);

    // The claim is stored now: the order of these creates decides nothing.
    const again = [max, REX, max, REX].map((pet) =>
      store.createPet(pet, newClaim('once', pet, apiKey)),
    );
    assert.deepEqual((await Promise.all(again)).map(({ kind }) => kind).toSorted(), [
      'claim_conflict',
      'claim_conflict',
      'replayed',
      'replayed',
    ]);
    assert.equal(await countPets(store), 1);
  });

  promise('a claim is forgotten after 24 hours, and not before', async (store) => {
    const apiKey = await createKey(store);
    const claimAt = (milliseconds: number) => newClaim('once', REX, apiKey, later(milliseconds));
    assert.equal((await store.createPet(REX, claimAt(0))).kind, 'created');
    assert.equal((await store.createPet(REX, claimAt(24 * HOUR_MS - 1))).kind, 'replayed');
    const second = await store.createPet(REX, claimAt(24 * HOUR_MS));
    assert.deepEqual(second, { kind: 'created', pet: { ...REX, id: 2n } });
    const replayed = await store.createPet(REX, claimAt(25 * HOUR_MS));
    assert.deepEqual(replayed, { kind: 'replayed', pet: petOf(second) });
  });

  promise('an expired claim is free for another animal too', async (store) => {
    const apiKey = await createKey(store);
    const max: NewPet = { ...REX, name: 'Max' };
    await store.createPet(REX, newClaim('once', REX, apiKey));
    const nextDay = later(24 * HOUR_MS);
    const claims = ['once', 'twice'].map((key) => newClaim(key, max, apiKey, nextDay));
    const creations = await Promise.all(claims.map((claim) => store.createPet(max, claim)));
    assert.deepEqual(
      creations.map(({ kind }) => kind),
      ['created', 'created'],
    );
  });

  promise('a claim belongs to its API key', async (store) => {
    const keyOf = async () => createKey(store);
    const [one, other] = [await keyOf(), await keyOf()];
    assert.equal((await store.createPet(REX, newClaim('once', REX, one))).kind, 'created');
    assert.equal((await store.createPet(REX, newClaim('once', REX, other))).kind, 'created');
    assert.equal(await countPets(store), 2);
  });

  promise('creates with new, known and no claims can arrive together', async (store) => {
    const apiKey = await createKey(store);
    const known = newClaim('known', REX, apiKey);
    const first = petOf(await store.createPet(REX, known));
    const creations = await Promise.all(
      Array.from({ length: 30 }, (_, index) => {
        if (index % 3 === 0) return store.createPet(REX);
        if (index % 3 === 1) return store.createPet(REX, known);
        return store.createPet(REX, newClaim(`new-${index}`, REX, apiKey));
      }),
    );
    const kinds = creations.map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'created').length, 20);
    const replays = creations.filter(({ kind }) => kind === 'replayed');
    assert.deepEqual(
      replays.map(petOf),
      Array.from({ length: 10 }, () => first),
    );
    assert.equal(await countPets(store), 21);
    // Animals that were not stored took no ids.
    assert.equal((await create(store)).id, 22n);
  });

  promise(
    'a create that fails stores neither animal nor claim, and nothing of its batch',
    async (store) => {
      const apiKey = await createKey(store);
      const nobody = newClaim('once', REX, { ...apiKey, id: 'key_of_nobody' });
      const settled = await Promise.allSettled(
        Array.from({ length: 21 }, (_, index) =>
          store.createPet(REX, index === 10 ? nobody : undefined),
        ),
      );
      for (const result of settled) {
        assert.ok(result.status === 'rejected' && result.reason instanceof Refusal);
        assert.equal(result.reason.code, 'unavailable');
      }
      assert.equal(await countPets(store), 0);
      assert.equal((await store.createPet(REX, newClaim('once', REX, apiKey))).kind, 'created');
    },
  );
}

function keys(promise: PromiseOf): void {
  promise('a key comes back as it was stored', async (store) => {
    const full: ApiKey = {
      ...newKey({ name: 'Käse "🐈"', scopes: ['pets:read'], expiresAt: later(1) }),
      revokedAt: later(2),
      lastUsedAt: later(3),
      lastDeprecatedCallAt: later(4),
    };
    await store.createApiKey(full);
    const bare = newKey({ name: 'bare' });
    await store.createApiKey(bare);
    assert.deepEqual(await findKey(store, full), full);
    assert.deepEqual(await findKey(store, bare), bare);
  });

  promise('a key that exists already is refused', async (store) => {
    const key = await createKey(store);
    await assert.rejects(store.createApiKey(key), { name: 'Refusal' });
    await assert.rejects(store.createApiKey({ ...newKey(), hash: key.hash }), { name: 'Refusal' });
    assert.deepEqual(await store.listApiKeys(), [key]);
  });

  promise('of many that create the first key at once, one succeeds', async (store, { open }) => {
    const stores = [store, await open(), await open()];
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => storeAt(stores, index).createFirstApiKey(newKey())),
    );
    assert.equal(made.filter(Boolean).length, 1);
    assert.equal((await store.listApiKeys()).length, 1);
    assert.equal(await store.createFirstApiKey(newKey()), false);
  });

  promise('no first key is created if any key exists', async (store) => {
    const key = await createKey(store);
    await store.revokeApiKey(key.id, NOW);
    assert.equal(await store.createFirstApiKey(newKey()), false);
  });

  promise('keys are listed oldest first, and by id where they are equally old', async (store) => {
    const made = [
      { ...newKey(), id: 'key_b', createdAt: later(1) },
      { ...newKey(), id: 'key_a', createdAt: later(2) },
      { ...newKey(), id: 'key_B', createdAt: later(1) },
      { ...newKey(), id: 'key_c', createdAt: later(0) },
    ];
    for (const key of made) await store.createApiKey(key);
    const listed = (await store.listApiKeys()).map(({ id }) => id);
    assert.deepEqual(listed, ['key_c', 'key_B', 'key_b', 'key_a']);
  });

  promise(
    'revoking twice keeps the first date, and returns false for an unknown key',
    async (store) => {
      const key = await createKey(store);
      assert.equal(await store.revokeApiKey(key.id, NOW), true);
      assert.equal(await store.revokeApiKey(key.id, later(HOUR_MS)), true);
      assert.deepEqual((await findKey(store, key))?.revokedAt, NOW);
      assert.equal(await store.revokeApiKey('key_of_nobody', NOW), false);
    },
  );

  promise('a key revoked by one process is revoked for every other', async (store, { open }) => {
    const key = await createKey(store);
    const other = await open();
    assert.deepEqual(await findKey(other, key), key);
    await store.revokeApiKey(key.id, NOW);
    assert.deepEqual((await findKey(other, key))?.revokedAt, NOW);
  });

  promise('rotating stores the successor and ends the old key, both or neither', async (store) => {
    const old = await createKey(store);
    const successor = newKey({ now: later(1), firstKeyId: old.id });
    const endsAt = later(HOUR_MS);
    assert.equal(await store.rotateApiKey(old.id, endsAt, successor), true);
    assert.deepEqual((await findKey(store, old))?.expiresAt, endsAt);
    assert.deepEqual(await findKey(store, successor), successor);

    assert.equal(await store.rotateApiKey('key_of_nobody', endsAt, newKey()), false);
    // The successor exists already, so that it cannot be stored: then nothing ends either.
    const other = await createKey(store);
    await assert.rejects(store.rotateApiKey(other.id, endsAt, successor), { name: 'Refusal' });
    assert.deepEqual(await findKey(store, other), other);
    assert.equal((await store.listApiKeys()).length, 3);
  });

  promise('rotating never makes a key live longer', async (store) => {
    const old = newKey({ expiresAt: later(1_000) });
    await store.createApiKey(old);
    assert.equal(await store.rotateApiKey(old.id, later(HOUR_MS), newKey()), true);
    assert.deepEqual((await findKey(store, old))?.expiresAt, later(1_000));
  });

  promise('a revoked, expired or already rotated key is not rotated', async (store) => {
    const [revoked, expired] = [await createKey(store), newKey({ expiresAt: later(1) })];
    await store.revokeApiKey(revoked.id, NOW);
    await store.createApiKey(expired);
    const first = await createKey(store);
    const second = newKey({ now: later(1), firstKeyId: first.id });
    const third = newKey({ now: later(2), firstKeyId: first.id });
    assert.equal(await store.rotateApiKey(first.id, later(HOUR_MS), second), true);
    assert.equal(await store.rotateApiKey(second.id, later(HOUR_MS), third), true);

    const before = await store.listApiKeys();
    for (const { id, firstKeyId } of [revoked, expired, first, second]) {
      const successor = newKey({ now: later(3), firstKeyId });
      assert.equal(await store.rotateApiKey(id, later(2), successor), false);
    }
    assert.deepEqual(await store.listApiKeys(), before);
  });

  promise(
    'of rotations of one key at once, beside a revocation, at most one succeeds',
    async (store, { open }) => {
      const stores = [store, await open(), await open()];
      for (let round = 0; round < 10; round += 1) {
        const old = await createKey(store);
        const rotations = stores.map((each) => {
          const successor = newKey({ now: later(1), firstKeyId: old.id });
          return each.rotateApiKey(old.id, later(HOUR_MS), successor);
        });
        await storeAt(stores, round).revokeApiKey(old.id, NOW);
        const rotated = (await Promise.all(rotations)).filter(Boolean).length;
        assert.ok(rotated <= 1, `${rotated} successors`);
        const chain = (await store.listApiKeys()).filter(({ firstKeyId }) => firstKeyId === old.id);
        assert.equal(chain.length, 1 + rotated);
        assert.equal(await store.rotateApiKey(old.id, later(2), newKey({ now: later(2) })), false);
      }
    },
  );

  promise('the last use and the last deprecated call of a key never go back', async (store) => {
    const [one, other, third] = [await createKey(store), await createKey(store), newKey()];
    await store.createApiKey(third);
    const record = (...uses: [id: string, usedAt: Date, deprecatedCallAt?: Date][]) =>
      store.recordKeyUse(
        new Map(uses.map(([id, usedAt, deprecatedCallAt]) => [id, { usedAt, deprecatedCallAt }])),
      );
    const inAnHour = later(HOUR_MS);
    await record([one.id, inAnHour, NOW], [other.id, NOW], ['key_of_nobody', NOW, NOW]);
    await record([one.id, NOW, inAnHour], [other.id, inAnHour, NOW], [third.id, inAnHour]);
    await record([one.id, NOW, NOW], [other.id, NOW], [third.id, NOW]);
    await record();
    const calls = new Map([
      [one, inAnHour],
      [other, NOW],
      [third, undefined],
    ]);
    for (const [key, lastDeprecatedCallAt] of calls) {
      const used = { ...key, lastUsedAt: inAnHour, lastDeprecatedCallAt };
      assert.deepEqual(await findKey(store, key), used);
    }
  });

  promise(
    'of the uses that several processes record at once, the latest stays',
    async (store, { open }) => {
      const stores = [store, await open(), await open()];
      const made: string[] = [];
      for (let count = 0; count < 20; count += 1) made.push((await createKey(store)).id);
      await Promise.all(
        Array.from({ length: 30 }, (_, round) => {
          const order = round % 2 === 0 ? made : made.toReversed();
          const at = later(-round);
          const uses = order.map((id) => [id, { usedAt: at, deprecatedCallAt: at }] as const);
          return storeAt(stores, round).recordKeyUse(new Map(uses));
        }),
      );
      for (const { lastUsedAt, lastDeprecatedCallAt } of await store.listApiKeys()) {
        assert.deepEqual([lastUsedAt, lastDeprecatedCallAt], [NOW, NOW]);
      }
    },
  );
}

function concurrency(promise: PromiseOf): void {
  promise('a read sees what any process was told is stored', async (store, { open }) => {
    const other = await open();
    for (let round = 0; round < 25; round += 1) {
      const pet = await create(round % 2 === 0 ? store : other);
      assert.deepEqual(await other.findPet(pet.id), pet);
      assert.deepEqual(await store.findPet(pet.id), pet);
    }
  });

  promise(
    'reads asked for at different moments each see all creates before them',
    async (store) => {
      const page = { status: undefined, afterId: 0n, count: 100 };
      for (let round = 1; round <= 20; round += 1) {
        const early = listPets(store, page);
        await create(store);
        const late = listPets(store, page);
        assert.ok((await early).length >= round - 1);
        assert.equal((await late).length, round);
      }
    },
  );

  promise(
    'a reader that follows the ids meets each animal once and misses none',
    async (store, { open }) => {
      const writers = [store, await open()];
      const reader = await open();
      const creates = 600;
      const expiry = await createKey(store);
      const written = Promise.all(
        Array.from({ length: creates }, async (_, index) => {
          // In waves, so that the reader finds the end of the list many times.
          await sleep((index % 20) * 10);
          const claim = index % 3 === 0 ? newClaim(`follow-${index}`, REX, expiry) : undefined;
          const attempt = () => storeAt(writers, index).createPet(REX, claim);
          return petOf(await onceAdmitted(attempt)).id;
        }),
      );
      let isDone = false;
      void written.finally(() => {
        isDone = true;
      });
      const met: bigint[] = [];
      for (let wasDone = false; ; wasDone = isDone) {
        const page = await listPets(reader, {
          status: undefined,
          afterId: met.at(-1) ?? 0n,
          count: 10,
        });
        met.push(...page.map(({ id }) => id));
        await turn();
        if (wasDone && page.length === 0) break;
      }
      assert.deepEqual(
        met,
        (await written).toSorted((one, other) => Number(one - other)),
      );
    },
  );

  promise(
    'a reader that walks back during creates meets each earlier animal once and misses none',
    async (store, { open }) => {
      await Promise.all(Array.from({ length: 300 }, () => create(store)));
      const reader = await open();
      const walk = { isDone: false };
      const creating = (async () => {
        let created = 0;
        for (; !walk.isDone; created += 1) await create(store);
        return created;
      })();
      const met: bigint[] = [];
      for (let upToId: bigint = INT64_MAX; ;) {
        const page = await listPets(reader, { status: undefined, upToId, count: 3 });
        const [first] = page;
        if (first === undefined) break;
        met.unshift(...page.map(({ id }) => id));
        upToId = first.id - 1n;
        await turn();
      }
      walk.isDone = true;
      assert.ok((await creating) > 0);
      assert.ok(met.length >= 300);
      assert.deepEqual(
        met,
        met.map((_, index) => BigInt(index + 1)),
      );
    },
  );

  promise('creates that arrive together share commits', async (store, { subject }) => {
    const before = await subject.countCommits();
    await Promise.all(Array.from({ length: 300 }, () => create(store)));
    const commits = (await subject.countCommits()) - before;
    assert.ok(commits >= 1 && commits <= 5, `300 creates took ${commits} commits`);
  });

  promise(
    'the figures count the writes that wait, and the commits that they shared',
    async (store) => {
      const valueOf = (name: string, le?: string) =>
        store
          .figures()
          .flatMap((figure) =>
            figure.values.map((value) => ({ metricName: figure.name, ...value })),
          )
          .find(({ metricName, labels }) => metricName === name && labels['le'] === le)?.value;
      await create(store);
      await turn();
      const creations = [create(store), create(store)];
      assert.equal(valueOf('petstore_writes_waiting'), 2);
      await Promise.all(creations);
      await turn();
      assert.equal(valueOf('petstore_writes_waiting'), 0);
      assert.equal(valueOf('petstore_writes_waiting_max'), 10_000);
      assert.equal(valueOf('petstore_write_batch_size_sum'), 3);
      // PostgreSQL reports what it has counted for the report before.
      while (valueOf('petstore_pets') !== 3) await turn();
      assert.equal(valueOf('petstore_write_batch_size_bucket', '1'), 1);
      assert.equal(valueOf('petstore_write_batch_size_bucket', '2'), 2);
      assert.equal(valueOf('petstore_commit_duration_seconds_count'), 2);
    },
  );

  promise('beyond what may wait, a create is refused at once and stores nothing', async (store) => {
    const settled = await Promise.allSettled(
      Array.from({ length: 12_000 }, () => store.createPet(REX)),
    );
    const refused = settled.filter((result) => result.status === 'rejected');
    const codes = new Set(refused.map(({ reason }) => (reason as Refusal).code));
    assert.ok(codes.has('overloaded'));
    // A very slow machine may also let some wait for too long.
    assert.deepEqual(
      [...codes].filter((code) => code !== 'overloaded' && code !== 'unavailable'),
      [],
    );
    const stored = await countPets(store);
    assert.equal(stored, settled.length - refused.length);
    assert.ok(stored > 0);
    assert.equal((await create(store)).id, BigInt(stored + 1));
  });
}

function versions(promise: PromiseOf, noVersion: string | undefined): void {
  if (noVersion !== undefined) {
    promise(`the store has none, because ${noVersion}`, async (store) => {
      assert.ok(!('version' in store));
    });
    return;
  }

  promise('it changes with every commit of this process', async (store) => {
    let before = store.version?.();
    assert.equal(typeof before, 'number');
    const key = newKey();
    for (const change of [
      () => create(store),
      () => store.createApiKey(key),
      () => store.revokeApiKey(key.id, NOW),
    ]) {
      await change();
      assert.notEqual(store.version?.(), before);
      before = store.version?.();
    }
  });

  promise('it changes with every commit of another process', async (store, { open }) => {
    const other = await open();
    for (let round = 0; round < 5; round += 1) {
      const before = store.version?.();
      await create(other);
      // A request that follows the response of another process begins in a later turn.
      await turn();
      assert.notEqual(store.version?.(), before);
    }
  });

  promise('it stays the same while nothing is committed', async (store) => {
    await create(store);
    const before = store.version?.();
    await listPets(store, { status: undefined, afterId: 0n, count: 10 });
    await turn();
    assert.equal(store.version?.(), before);
  });
}

const STRANGE_NAMES = [
  "Robert'); DROP TABLE pets;--",
  '"quoted" \\ {a,NULL} \\"',
  'NULL',
  '{}',
  ' ',
  'line\nbreak\r\n\ttab',
  '\u0001\u007f\u0085\u2028\ufeff\uffff',
  'e\u0301 is not \u00e9',
  '🐈‍⬛'.repeat(63),
  '\u{10ffff}'.repeat(255),
];

const anyNewPet: fc.Arbitrary<NewPet> = fc.record({
  name: fc
    .string({ unit: anyCharacter, minLength: 1, maxLength: 255 })
    .filter((name) => name.isWellFormed() && !name.includes('\0')),
  categoryId: fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  status: fc.constantFrom(...PET_STATUSES),
});

async function create(store: Store, pet: NewPet = REX): Promise<Pet> {
  return petOf(await store.createPet(pet));
}

/** A machine that stalls makes the store refuse creates as overloaded. Those have stored nothing. */
async function onceAdmitted(attempt: () => Promise<Creation>): Promise<Creation> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'overloaded') throw error;
      await sleep(20);
    }
  }
}

function petOf(creation: Creation): Pet {
  assert.ok(creation.kind !== 'claim_conflict');
  return creation.pet;
}

async function countPets(store: Store): Promise<number> {
  let total = 0;
  for (let afterId = 0n; ;) {
    const page = await listPets(store, { status: undefined, afterId, count: 1_000 });
    total += page.length;
    const last = page.at(-1);
    if (last === undefined) return total;
    afterId = last.id;
  }
}

function newKey(options: Partial<Parameters<typeof newApiKey>[0]> = {}): ApiKey {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name: 'test', now: NOW, randomBytes, ...options });
}

async function findKey(store: Store, { id }: ApiKey): Promise<ApiKey | undefined> {
  return (await store.listApiKeys()).find((key) => key.id === id);
}

async function createKey(store: Store): Promise<ApiKey> {
  const key = newKey();
  await store.createApiKey(key);
  return key;
}

function newClaim(key: string, pet: NewPet, { id }: ApiKey, now = NOW): IdempotencyClaim {
  return newIdempotencyClaim(key, pet, { apiKeyId: id, now });
}

function later(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

function storeAt(stores: Store[], index: number): Store {
  const store = stores[index % stores.length];
  assert.ok(store !== undefined);
  return store;
}

function byId(one: Pet, other: Pet): number {
  return Number(one.id - other.id);
}

function pageOf(pets: readonly Pet[], continuesAt: Pet | undefined): PetPage {
  return { json: `[${pets.map(petJson).join(',')}]`, continuesAtId: continuesAt?.id };
}
