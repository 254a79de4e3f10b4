import assert from 'node:assert/strict';
import type { NewPet, Pet, PetStatus } from '../src/domain/pet.ts';
import type { Store } from '../src/domain/store.ts';

/** Gives animals a status, as `petstore catalogue` does. */
export function setStatus(store: Store, ids: readonly bigint[], status: PetStatus): Promise<void> {
  return change(store, ids, (from) => ({ ...from, status }));
}

export function removePets(store: Store, ids: readonly bigint[]): Promise<void> {
  return change(store, ids, () => undefined);
}

async function change(store: Store, ids: readonly bigint[], to: (pet: Pet) => NewPet | undefined) {
  const found = await Promise.all(ids.map((id) => store.findPet(id)));
  const pets = found.map((pet, at) => pet ?? assert.fail(`no animal has the id ${ids[at]}`));
  assert.deepEqual(await store.changePets(pets.map((from) => ({ from, to: to(from) }))), []);
}
