import type { Clause } from '../clause.ts';
import { expectError, expectPet, expectPets, expectThat } from '../expect.ts';
import { requireGetPet } from '../removal.ts';
import { INT64_MAX, INT64_MIN, LIMIT_MAX } from '../specification.ts';
import { NotCheckable } from '../verdict.ts';

const section = 'Endpoints';

export const GET_PET: Clause[] = [
  {
    kind: 'service',
    id: 'getPet.200',
    section,
    sentence: 'GET /pets/{petId}: 200, Pet, when the animal is found; the same as in the list.',
    writes: false,
    check: async (service) => {
      requireGetPet(service.subject.now);
      const [listed] = await service.catalogueOf(1);
      if (listed === undefined) return;
      const exchange = await service.get(listed.id);
      const pet = expectPet(exchange, 200);
      const isSame =
        pet.id === listed.id &&
        pet.name === listed.name &&
        pet.categoryId === listed.categoryId &&
        pet.status === listed.status;
      const { id, name, categoryId, status = 'no status' } = listed;
      expectThat(isSame, exchange, `200 with the Pet ${id}, ${name}, ${categoryId}, ${status}`);
    },
  },
  {
    kind: 'service',
    id: 'getPet.petId',
    section,
    sentence: 'GET /pets/{petId}, petId: int64. The smallest int64 is a valid identifier.',
    writes: false,
    check: async (service) => {
      requireGetPet(service.subject.now);
      expectError(await service.get(INT64_MIN), 404);
    },
  },
  {
    kind: 'service',
    id: 'getPet.401',
    section,
    sentence: 'GET /pets/{petId}: 401, Error, when the API key is missing.',
    writes: false,
    check: async (service) => {
      requireGetPet(service.subject.now);
      const pet = await service.anyAnimal();
      expectError(await service.get(pet?.id ?? 1n, 'none'), 401);
    },
  },
  {
    kind: 'service',
    id: 'getPet.404',
    section,
    sentence: 'GET /pets/{petId}: 404, Error, when the requested animal cannot be found.',
    writes: false,
    check: async (service) => {
      requireGetPet(service.subject.now);
      expectError(await service.get(INT64_MAX), 404);
    },
  },
  {
    kind: 'uncheckable',
    id: 'getPet.deprecated',
    section,
    sentence: 'GET /pets/{petId} is marked deprecated.',
    why: 'the specification does not say how a response shows that',
  },
  {
    kind: 'service',
    id: 'getPet.replacement',
    section,
    sentence: 'The replacement is GET /pets with the status filter: it shows the same animal.',
    writes: false,
    check: async (service) => {
      const pet = (await service.catalogueOf(1)).find(({ status }) => status !== undefined);
      if (pet === undefined) throw new NotCheckable('no animal has a status');
      const exchange = await service.list(`?status=${pet.status}&limit=${LIMIT_MAX}`);
      const pets = expectPets(exchange);
      if (pets.some(({ id }) => id === pet.id)) return;
      if (pets.length >= LIMIT_MAX) throw new NotCheckable('more animals match than are shown');
      expectThat(false, exchange, `a list that holds the animal ${pet.id}`);
    },
  },
];
