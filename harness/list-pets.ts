import { parseJson } from '../src/domain/json.ts';
import type { PagePosition } from '../src/domain/page.ts';
import type { Pet, PetStatus } from '../src/domain/pet.ts';
import type { PetStore } from '../src/domain/store.ts';

export type PetQuery = PagePosition & { status: PetStatus | undefined; count: number };

/** The animals of a page as values, with their exact integers. */
export async function listPets(
  store: Pick<PetStore, 'listPage'>,
  { count, ...position }: PetQuery,
): Promise<Pet[]> {
  const { json } = await store.listPage({ ...position, limit: count });
  return parseJson(json) as Pet[];
}
