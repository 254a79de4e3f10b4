import type { Clause } from '../clause.ts';
import { expectPet, expectThat } from '../expect.ts';
import { requireGetPet } from '../removal.ts';
import { newPetText } from '../service-under-check.ts';
import { LIMIT_MAX, PET_STATUSES } from '../specification.ts';
import { Broken } from '../verdict.ts';

const section = 'What the service does';

export const OVERVIEW: Clause[] = [
  {
    kind: 'service',
    id: 'service.list',
    section,
    sentence: 'A client can list animals (optionally filtered by availability status).',
    writes: false,
    check: async (service) => {
      for (const query of ['', ...PET_STATUSES.map((status) => `?status=${status}`)]) {
        const exchange = await service.list(query);
        expectThat(exchange.status === 200, exchange, '200');
      }
    },
  },
  {
    kind: 'service',
    id: 'service.add',
    section,
    sentence: 'The service keeps a catalogue: an animal that was added can be found afterwards.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('kept');
      const body = newPetText({ name, categoryId: await service.categoryId(), status: 'pending' });
      const added = expectPet(await service.create(body), 201);
      for (const filter of ['', '&status=pending']) {
        const pets = await service.catalogue(filter);
        if (pets.some(({ id }) => id === added.id)) return;
        if (pets.length >= LIMIT_MAX) continue;
        const evidence = {
          request: `GET /pets?limit=${LIMIT_MAX}${filter} with the key`,
          response: `${pets.length} animals without it`,
        };
        throw new Broken(evidence, `a list that holds the animal ${added.id} just added`);
      }
      // More animals match than one list can show: the animal can still be fetched by its id.
      requireGetPet(service.subject.now);
      expectPet(await service.get(added.id), 200);
    },
  },
  {
    kind: 'service',
    id: 'service.fetch',
    section,
    sentence: 'A client can fetch one animal by its identifier.',
    writes: false,
    check: async (service) => {
      requireGetPet(service.subject.now);
      const pets = await service.catalogueOf(1);
      // Both ends of the list, because a service might always return one of them.
      for (const pet of [pets[0], pets.at(-1)]) {
        if (pet === undefined) continue;
        const exchange = await service.get(pet.id);
        const fetched = expectPet(exchange, 200);
        expectThat(fetched.id === pet.id, exchange, `200 with the animal ${pet.id}`);
      }
    },
  },
];
