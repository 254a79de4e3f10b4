import { LIMIT_MAX } from '../../src/domain/page.ts';
import { PET_STATUSES } from '../../src/domain/pet.ts';
import type { Clause } from '../clause.ts';
import { expectPet, expectThat } from '../expect.ts';
import { needGetPet } from '../removal.ts';
import { newPetText } from '../service-under-check.ts';
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
          answer: `${pets.length} animals without it`,
        };
        throw new Broken(evidence, `a list that holds the animal ${added.id} just added`);
      }
      // More animals match than one request can show: what is kept can still be fetched.
      needGetPet(service.subject.now);
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
      needGetPet(service.subject.now);
      const pets = await service.catalogueOf(1);
      // The two ends of the list, because a service might always answer with one of them.
      for (const pet of [pets[0], pets.at(-1)]) {
        if (pet === undefined) continue;
        const exchange = await service.get(pet.id);
        const fetched = expectPet(exchange, 200);
        expectThat(fetched.id === pet.id, exchange, `200 with the animal ${pet.id}`);
      }
    },
  },
];
