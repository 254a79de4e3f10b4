// What every store promises about animals that are changed or removed; a part of store.contract.ts.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { listPets } from '../../harness/list-pets.ts';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import { newIdempotencyClaim } from '../domain/idempotency.ts';
import { INT64_MAX, INT64_MIN } from '../domain/int64.ts';
import { petJson } from '../domain/json.ts';
import { PET_STATUSES, type NewPet, type Pet, type PetStatus } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';

type PromiseOf = (
  title: string,
  keep: (store: Store, more: { open: () => Promise<Store> }) => Promise<void>,
) => void;

const REX: NewPet = { name: 'Rex', categoryId: INT64_MIN, status: 'available' };
const NOW = new Date('2026-11-15T12:00:00.000Z');
const DAY_MS = 24 * 3_600_000;

export function changes(promise: PromiseOf): void {
  promise('the status of several animals is set at once, and nothing else', async (store) => {
    await store.importPets(Array.from({ length: 4 }, () => REX));
    for (const status of PET_STATUSES) {
      assert.deepEqual(await store.changePets([3n, 1n], { status }), []);
      const changed: Pet = { ...REX, id: 3n, status };
      assert.deepEqual(await store.findPet(3n), changed);
      assert.deepEqual(await list(store), [
        { ...REX, id: 1n, status },
        { ...REX, id: 2n },
        changed,
        { ...REX, id: 4n },
      ]);
      const { json } = await store.listPage({ status, afterId: 2n, limit: 1 });
      assert.equal(json, `[${petJson(changed)}]`);
    }
    assert.deepEqual(await idsOf(store, 'available'), [2n, 4n]);
    assert.deepEqual(await idsOf(store, 'sold'), [1n, 3n]);
  });

  promise('a field that is not named stays as it is', async (store) => {
    await store.importPets([REX, REX]);
    assert.deepEqual(await store.changePets([1n], { name: 'Bélla' }), []);
    assert.deepEqual(await store.changePets([1n, 2n], { categoryId: INT64_MAX }), []);
    assert.deepEqual(await list(store), [
      { ...REX, id: 1n, name: 'Bélla', categoryId: INT64_MAX },
      { ...REX, id: 2n, categoryId: INT64_MAX },
    ]);
  });

  promise(
    'an animal is changed or removed as it was seen, and otherwise left alone',
    async (store) => {
      await store.importPets([REX, REX]);
      const seen: Pet = { ...REX, id: 1n };
      const wanted: NewPet = { name: 'Max', categoryId: INT64_MAX, status: 'sold' };
      assert.deepEqual(await store.changePet(seen, wanted), { kind: 'done' });
      const changed: Pet = { ...wanted, id: 1n };
      assert.deepEqual(await store.findPet(1n), changed);
      // Sent again after a lost response.
      assert.deepEqual(await store.changePet(seen, wanted), { kind: 'done' });
      for (const stale of [seen, { ...changed, name: 'Rex' }, { ...changed, categoryId: 0n }]) {
        const to: NewPet = { ...wanted, status: 'pending' };
        assert.deepEqual(await store.changePet(stale, to), { kind: 'changed_meanwhile' });
        assert.deepEqual(await store.removePet(stale), { kind: 'changed_meanwhile' });
      }
      assert.deepEqual(await list(store), [changed, { ...REX, id: 2n }]);
      assert.deepEqual(await store.removePet(changed), { kind: 'done' });
      assert.deepEqual(await store.removePet(changed), { kind: 'gone' });
      assert.deepEqual(await store.changePet(changed, REX), { kind: 'gone' });
      assert.deepEqual(await list(store), [{ ...REX, id: 2n }]);
      assert.equal(await store.mayChange(), true);
    },
  );

  promise(
    'of two who change the same animal, none overwrites the other unseen',
    async (store, { open }) => {
      await store.importPets(Array.from({ length: 5 }, () => ({ ...REX, categoryId: 0n })));
      const stores = [store, await open()];
      const done = new Map<bigint, bigint>();
      await Promise.all(
        Array.from({ length: 16 }, async (_, client) => {
          for (let round = 0; round < 10; round += 1) {
            const id = BigInt(1 + ((client + round) % 5));
            const seen = await storeAt(stores, client).findPet(id);
            assert.ok(seen !== undefined);
            const to = { ...seen, name: `${client} ${round}`, categoryId: seen.categoryId + 1n };
            const { kind } = await storeAt(stores, client + round).changePet(seen, to);
            if (kind === 'done') done.set(id, (done.get(id) ?? 0n) + 1n);
          }
        }),
      );
      const counts = (await list(store)).map(({ id, categoryId }) => [id, categoryId] as const);
      assert.deepEqual(new Map(counts), done);
      assert.ok(done.values().reduce((sum, count) => sum + count, 0n) >= 10n);
    },
  );

  promise('removed animals are gone, and their ids are not assigned again', async (store, more) => {
    await store.importPets(Array.from({ length: 4 }, () => REX));
    assert.deepEqual(await store.removePets([4n, 2n]), []);
    assert.equal(await store.findPet(4n), undefined);
    assert.deepEqual(await idsOf(store), [1n, 3n]);
    assert.deepEqual(await idsOf(store, 'available'), [1n, 3n]);
    await store.close();
    // Also not the highest one, nor by another process.
    const reopened = await more.open();
    assert.deepEqual(await reopened.createPet(REX), { kind: 'created', pet: { ...REX, id: 5n } });
    await reopened.removePets([1n, 3n, 5n]);
    assert.deepEqual(await reopened.createPet(REX), { kind: 'created', pet: { ...REX, id: 6n } });
  });

  promise('if an id does not exist, it is returned and nothing is changed', async (store) => {
    await store.importPets([REX, REX, REX]);
    await store.removePets([2n]);
    const missing = [2n, 4n, 0n, -1n, INT64_MIN, INT64_MAX];
    const ids = [1n, ...missing, 3n];
    assert.deepEqual(
      (await store.changePets(ids, { status: 'sold' })).toSorted(ascending),
      missing.toSorted(ascending),
    );
    assert.deepEqual(
      (await store.removePets(ids)).toSorted(ascending),
      missing.toSorted(ascending),
    );
    assert.deepEqual(await list(store), [
      { ...REX, id: 1n },
      { ...REX, id: 3n },
    ]);
    assert.deepEqual(await store.changePets([], { status: 'sold' }), []);
    assert.deepEqual(await store.removePets([]), []);
  });

  promise('10,000 animals are changed in one call', async (store) => {
    await store.importPets(Array.from({ length: 10_001 }, () => REX));
    const ids = Array.from({ length: 10_000 }, (_, index) => BigInt(index + 1));
    assert.deepEqual(await store.changePets(ids, { status: 'sold' }), []);
    assert.deepEqual(await idsOf(store, 'available'), [10_001n]);
    assert.deepEqual(await store.removePets(ids), []);
    assert.deepEqual(await idsOf(store), [10_001n]);
  });

  promise('a repeated create returns the animal as it was created', async (store, { open }) => {
    const key = newApiKey({
      secret: newSecret('production', randomBytes),
      name: 'test',
      now: NOW,
      randomBytes,
    });
    await store.createApiKey(key);
    const claimAt = (name: string, milliseconds = 0) =>
      newIdempotencyClaim(name, REX, {
        apiKeyId: key.id,
        now: new Date(NOW.getTime() + milliseconds),
      });
    for (const name of ['sold', 'removed']) await store.createPet(REX, claimAt(name));
    await store.changePets([1n, 2n], { status: 'sold' });
    await store.removePets([2n]);
    const other = await open();
    for (const each of [store, other]) {
      const replayed = (id: bigint) => ({ kind: 'replayed', pet: { ...REX, id } });
      assert.deepEqual(await each.createPet(REX, claimAt('sold')), replayed(1n));
      assert.deepEqual(await each.createPet(REX, claimAt('removed', DAY_MS - 1)), replayed(2n));
    }
    // Another animal under the same claim is still a conflict.
    const max = { ...REX, name: 'Max' };
    const claim = newIdempotencyClaim('removed', max, { apiKeyId: key.id, now: NOW });
    assert.deepEqual(await store.createPet(max, claim), { kind: 'claim_conflict' });
    // The claim of a removed animal expires as any other does.
    const created = await store.createPet(REX, claimAt('removed', DAY_MS));
    assert.deepEqual(created, { kind: 'created', pet: { ...REX, id: 3n } });
    assert.deepEqual(await idsOf(store), [1n, 3n]);
  });

  promise('a change is seen by every process at its next read', async (store, { open }) => {
    const other = await open();
    await store.importPets([REX]);
    for (let round = 0; round < 20; round += 1) {
      const status = PET_STATUSES[round % PET_STATUSES.length] ?? 'sold';
      const [one, two] = round % 2 === 0 ? [store, other] : [other, store];
      await turn();
      const before = two.version?.();
      await one.changePets([1n], { status });
      await turn();
      assert.equal((await two.findPet(1n))?.status, status);
      assert.deepEqual(await idsOf(two, status), [1n]);
      if (before !== undefined) assert.notEqual(two.version?.(), before);
    }
  });

  promise('of simultaneous changes each is whole', async (store, { open }) => {
    await store.importPets(Array.from({ length: 50 }, () => REX));
    const ids = await idsOf(store);
    const stores = [store, await open(), await open()];
    const statuses = Array.from({ length: 30 }, (_, index) => PET_STATUSES[index % 3] ?? 'sold');
    await Promise.all(
      statuses.map((status, index) =>
        // In opposite orders, so that two of them would wait for each other.
        storeAt(stores, index).changePets(index % 2 === 0 ? ids : ids.toReversed(), { status }),
      ),
    );
    const counts = await Promise.all(PET_STATUSES.map((status) => idsOf(store, status)));
    assert.deepEqual(counts.map(({ length }) => length).toSorted(ascending), [0, 0, 50]);
    const removals = await Promise.all(stores.map((each) => each.removePets(ids)));
    assert.deepEqual(removals.map(({ length }) => length).toSorted(ascending), [0, 50, 50]);
  });
}

function list(store: Store, status?: PetStatus): Promise<Pet[]> {
  return listPets(store, { status, afterId: 0n, count: 20_000 });
}

async function idsOf(store: Store, status?: PetStatus): Promise<bigint[]> {
  return (await list(store, status)).map(({ id }) => id);
}

function storeAt(stores: Store[], index: number): Store {
  const store = stores[index % stores.length];
  assert.ok(store !== undefined);
  return store;
}

function ascending(one: bigint | number, other: bigint | number): number {
  return Number(one > other) - Number(one < other);
}
