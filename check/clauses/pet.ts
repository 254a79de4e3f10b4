import type { Clause } from '../clause.ts';
import type { Exchange } from '../client.ts';
import { expectPet, expectThat, isRefused } from '../expect.ts';
import { EMPTY_CATALOGUE, newPetText } from '../service-under-check.ts';
import { findFieldFault, isRecord, PET_FIELDS } from '../shapes.ts';
import { NotCheckable } from '../verdict.ts';

const section = 'Resources and their fields';

export const PET: Clause[] = [
  fieldOfEveryPet('id', 'Pet.id: integer, int64, required.'),
  {
    kind: 'service',
    id: 'Pet.id.unique',
    section,
    sentence: 'Pet.id: unique identifier. No two animals share one.',
    writes: false,
    afterwards: true,
    check: ({ client }) => {
      const created = new Set<unknown>();
      for (const exchange of client.exchanges) {
        const ids = animalsOf(exchange).map((pet) => (isRecord(pet) ? pet['id'] : undefined));
        expectThat(
          new Set(ids).size === ids.length,
          exchange,
          'a list in which each id appears once',
        );
        if (exchange.status !== 201) continue;
        expectThat(!created.has(ids[0]), exchange, 'an id that no animal had before');
        created.add(ids[0]);
      }
      requireAnimals(client.exchanges);
    },
  },
  {
    kind: 'service',
    id: 'Pet.id.assigned',
    section,
    sentence: 'Pet.id is assigned by the service: a client cannot choose the id of another animal.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('chosen id');
      const body = newPetText({ name, categoryId: await service.categoryId(), status: 'sold' });
      const taken = expectPet(await service.create(body), 201).id;
      const exchange = await service.create(`{"id":${taken},${body.slice(1)}`);
      if (isRefused(exchange)) return;
      const { id } = expectPet(exchange, 201);
      expectThat(id !== taken, exchange, `201 with another id than ${taken}, which is taken`);
    },
  },
  fieldOfEveryPet('name', 'A Pet has every field of NewPet: name, a string, required.'),
  fieldOfEveryPet('categoryId', 'A Pet has every field of NewPet: categoryId, int64, required.'),
  {
    kind: 'service',
    id: 'Pets',
    section,
    sentence: 'A list of animals (Pets) is a JSON array of Pet objects.',
    writes: false,
    check: async (service) => {
      const exchange = await service.list('');
      const { body } = exchange;
      expectThat(Array.isArray(body) && body.every(isRecord), exchange, 'a JSON array of objects');
    },
  },
];

/** A clause about one field of every animal in every response of this run. */
export function fieldOfEveryPet(field: keyof typeof PET_FIELDS, sentence: string): Clause {
  return {
    kind: 'service',
    id: `Pet.${field}`,
    section: field === 'status' ? 'States and transitions' : section,
    sentence,
    writes: false,
    afterwards: true,
    check: ({ client }) => {
      for (const exchange of client.exchanges) {
        for (const pet of animalsOf(exchange)) {
          const fault = findFieldFault(pet, PET_FIELDS[field]);
          expectThat(fault === undefined, exchange, fault ?? '');
        }
      }
      requireAnimals(client.exchanges);
    },
  };
}

function requireAnimals(exchanges: readonly Exchange[]): void {
  if (exchanges.every((exchange) => animalsOf(exchange).length === 0)) {
    throw new NotCheckable(EMPTY_CATALOGUE);
  }
}

function animalsOf({ operation, status, body }: Exchange): unknown[] {
  if (operation === 'listPets') return status === 200 && Array.isArray(body) ? body : [];
  return status === (operation === 'createPet' ? 201 : 200) ? [body] : [];
}
