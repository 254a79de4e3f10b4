import type { Exchange, Operation } from './client.ts';
import type { Credential } from './credentials.ts';
import { needGetPet } from './removal.ts';
import { newPetText, type ServiceUnderCheck } from './service-under-check.ts';

/** How to ask for each operation when only the key is of interest. */
export interface AskedOperation {
  operation: Operation;
  title: string;
  writes: boolean;
  ask: (service: ServiceUnderCheck, credential: Credential) => Promise<Exchange>;
}

export const OPERATIONS: readonly AskedOperation[] = [
  {
    operation: 'listPets',
    title: 'GET /pets',
    writes: false,
    ask: (service, credential) => service.list('', credential),
  },
  {
    operation: 'createPet',
    title: 'POST /pets',
    writes: true,
    ask: async (service, credential) => {
      const categoryId = await service.categoryId();
      const name = service.nameOf('unwanted: no valid key');
      return service.create(newPetText({ name, categoryId, status: 'sold' }), credential);
    },
  },
  {
    operation: 'getPet',
    title: 'GET /pets/{petId}',
    writes: false,
    ask: async (service, credential) => {
      needGetPet(service.subject.now);
      const pet = await service.anyAnimal();
      return service.get(pet?.id ?? 1n, credential);
    },
  },
];
