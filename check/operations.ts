import type { Exchange, Operation } from './client.ts';
import type { Credential } from './credentials.ts';
import { requireGetPet } from './removal.ts';
import { newPetText, type ServiceUnderCheck } from './service-under-check.ts';

/** How to send each operation when only the credential matters. */
export interface CheckedOperation {
  operation: Operation;
  title: string;
  writes: boolean;
  send: (service: ServiceUnderCheck, credential: Credential) => Promise<Exchange>;
}

export const OPERATIONS: readonly CheckedOperation[] = [
  {
    operation: 'listPets',
    title: 'GET /pets',
    writes: false,
    send: (service, credential) => service.list('', credential),
  },
  {
    operation: 'createPet',
    title: 'POST /pets',
    writes: true,
    send: async (service, credential) => {
      const categoryId = await service.categoryId();
      const name = service.nameOf('unwanted: no valid key');
      return service.create(newPetText({ name, categoryId, status: 'sold' }), credential);
    },
  },
  {
    operation: 'getPet',
    title: 'GET /pets/{petId}',
    writes: false,
    send: async (service, credential) => {
      requireGetPet(service.subject.now);
      const pet = await service.anyAnimal();
      return service.get(pet?.id ?? 1n, credential);
    },
  },
];
