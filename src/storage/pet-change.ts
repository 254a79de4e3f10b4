import type { NewPet, Pet } from '../domain/pet.ts';
import type { PetChange, PetConflict } from '../domain/store.ts';

/** The changes that must not be made, by the animals that were found and locked. */
export function conflictsIn(
  changes: readonly PetChange[],
  find: (id: bigint) => Pet | undefined,
): PetConflict[] {
  return changes.flatMap(({ from, to }): PetConflict[] => {
    const found = find(from.id);
    if (found === undefined) return [{ id: from.id, kind: 'gone' }];
    // A change that is repeated after its response was lost finds its own result.
    const isFree = isSamePet(found, from) || (to !== undefined && isSamePet(found, to));
    return isFree ? [] : [{ id: from.id, kind: 'changed' }];
  });
}

function isSamePet(one: NewPet, other: NewPet): boolean {
  return (
    one.name === other.name && one.categoryId === other.categoryId && one.status === other.status
  );
}
