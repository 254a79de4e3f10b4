import type { Clause } from '../clause.ts';
import { expectError, expectPet, expectThat } from '../expect.ts';
import { newPetText } from '../service-under-check.ts';

const section = 'Endpoints';

export const CREATE_PET: Clause[] = [
  {
    kind: 'service',
    id: 'createPet.201',
    section,
    sentence: 'POST /pets: 201, Pet (includes the assigned id), when the animal is added.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('added');
      const categoryId = await service.categoryId();
      const exchange = await service.create(newPetText({ name, categoryId, status: 'available' }));
      const pet = expectPet(exchange, 201);
      const isAsSent =
        pet.name === name && pet.categoryId === categoryId && pet.status === 'available';
      expectThat(isAsSent, exchange, '201 with the Pet as it was sent, and its id');
    },
  },
  {
    kind: 'service',
    id: 'createPet.body',
    section,
    sentence: 'POST /pets: the request body is required.',
    writes: true,
    check: async (service) => expectError(await service.create(''), 400),
  },
  {
    kind: 'service',
    id: 'createPet.400',
    section,
    sentence: 'POST /pets: 400, Error, when the body is missing required fields.',
    writes: true,
    check: async (service) => expectError(await service.create('{}'), 400),
  },
  {
    kind: 'service',
    id: 'createPet.401',
    section,
    sentence: 'POST /pets: 401, Error, when the API key is missing.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('unwanted: no key');
      const body = newPetText({ name, categoryId: await service.categoryId() });
      expectError(await service.create(body, 'none'), 401);
    },
  },
];
