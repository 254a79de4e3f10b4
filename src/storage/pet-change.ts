import type { NewPet, Pet } from '../domain/pet.ts';
import type { PetChange } from '../domain/store.ts';

/** What a change came to, by the animal that it found and locked. Only one that is as `from` was changed. */
export function changeOf(found: Pet | undefined, from: NewPet, to: NewPet = from): PetChange {
  if (found === undefined) return { kind: 'gone' };
  // A change that is repeated after its response was lost finds its own result.
  const isDone = isSamePet(found, from) || isSamePet(found, to);
  return { kind: isDone ? 'done' : 'changed_meanwhile' };
}

export function isSamePet(one: NewPet, other: NewPet): boolean {
  return (
    one.name === other.name && one.categoryId === other.categoryId && one.status === other.status
  );
}
