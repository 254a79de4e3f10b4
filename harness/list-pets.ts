import { parseJson } from '../src/domain/json.ts';
import type { Pet } from '../src/domain/pet.ts';
import type { PetQuery, PetStore } from '../src/domain/store.ts';

/** The animals of a page as values, with their exact integers. */
export async function listPets(
  store: Pick<PetStore, 'listPetJson'>,
  query: PetQuery,
): Promise<Pet[]> {
  const page = await store.listPetJson(query);
  return page.map(([, json]) => parseJson(json) as Pet);
}
