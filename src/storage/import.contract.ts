// What every store promises about imports; a part of store.contract.ts.

import assert from 'node:assert/strict';
import { listPets } from '../../harness/list-pets.ts';
import { INT64_MAX, INT64_MIN } from '../domain/int64.ts';
import type { NewPet } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';

type PromiseOf = (
  title: string,
  keep: (store: Store, more: { open: () => Promise<Store> }) => Promise<void>,
) => void;

const REX: NewPet = { name: 'Rex', categoryId: INT64_MIN, status: 'sold' };
const TOM: NewPet = { name: '"Tom"\n\\😀', categoryId: INT64_MAX, status: 'pending' };
const EVERYTHING = { status: undefined, afterId: 0n, count: 100 };

export function imports(promise: PromiseOf): void {
  promise('animals keep their order, their exact integers and their exact names', async (store) => {
    assert.equal(await store.importPets([REX, TOM]), true);
    assert.equal(await store.importPets([]), true);
    const creation = await store.createPet(REX);
    assert.deepEqual(creation, { kind: 'created', pet: { id: 3n, ...REX } });
    assert.deepEqual(await listPets(store, EVERYTHING), [
      { id: 1n, ...REX },
      { id: 2n, ...TOM },
      { id: 3n, ...REX },
    ]);
  });

  promise('the note of an import moves with the animals, or neither is stored', async (store) => {
    const first = { source: 'a', position: 10, lines: 1, imported: 1, skipped: 0 };
    const second = { source: 'a', position: 30, lines: 3, imported: 2, skipped: 1 };
    assert.equal(await store.findImport('a'), undefined);
    assert.equal(await store.importPets([REX], { from: 0, to: first }), true);
    assert.equal(await store.importPets([REX], { from: 0, to: first }), false);
    assert.equal(await store.importPets([TOM], { from: 10, to: second }), true);
    assert.equal(await store.importPets([TOM], { from: 10, to: second }), false);
    assert.deepEqual(await store.findImport('a'), second);
    assert.equal(await store.findImport('b'), undefined);
    assert.deepEqual(await listPets(store, EVERYTHING), [
      { id: 1n, ...REX },
      { id: 2n, ...TOM },
    ]);
  });

  promise('of many that import the same piece at once, one stores it', async (store, { open }) => {
    const stores = [store, await open(), await open()];
    const to = { source: 'a', position: 10, lines: 2, imported: 2, skipped: 0 };
    const outcomes = await Promise.all(
      stores.map((each) => each.importPets([REX, TOM], { from: 0, to })),
    );
    assert.equal(outcomes.filter((isStored) => isStored).length, 1);
    assert.equal((await listPets(store, EVERYTHING)).length, 2);
  });

  promise('one animal that cannot be stored keeps all of them out', async (store) => {
    const wrong = { ...TOM, status: 'gone' } as unknown as NewPet;
    const to = { source: 'a', position: 10, lines: 2, imported: 2, skipped: 0 };
    await assert.rejects(store.importPets([REX, wrong], { from: 0, to }), { code: 'unavailable' });
    assert.deepEqual(await listPets(store, EVERYTHING), []);
    assert.equal(await store.findImport('a'), undefined);
  });
}
