import type { Clause } from '../clause.ts';
import { expectAdded } from '../expect.ts';
import { newPetText, type ServiceUnderCheck } from '../service-under-check.ts';
import { INT64_MAX, INT64_MIN } from '../specification.ts';
import { NotCheckable } from '../verdict.ts';

const section = 'Resources and their fields';

/** Unlikely to be a known category, and within 32 bits, which every service can store. */
const UNLIKELY_CATEGORY_ID = 2_000_000_011n;

export const NEW_PET: Clause[] = [
  {
    kind: 'service',
    id: 'NewPet.name',
    section,
    sentence: 'NewPet.name: string, required. The animal has the name that was sent.',
    writes: true,
    check: async (service) => {
      const plain = service.nameOf('name');
      const categoryId = await service.categoryId();
      const body = newPetText({ name: plain, categoryId, status: 'sold' });
      expectAdded(await service.create(body), { name: plain });

      // The specification shows no constraints on characters: these may be refused, but not changed.
      const special = service.nameOf('name "Mrs. O\'Möhre" \\ 猫 🐾  ');
      const specialBody = newPetText({ name: special, categoryId, status: 'sold' });
      const exchange = await service.create(specialBody);
      if (exchange.status !== 400) expectAdded(exchange, { name: special });
    },
  },
  {
    kind: 'service',
    id: 'NewPet.categoryId',
    section,
    sentence: 'NewPet.categoryId: integer, required. The animal has the category that was sent.',
    writes: true,
    check: async (service) => {
      const categoryId = await service.categoryId();
      const body = newPetText({ name: service.nameOf('category'), categoryId, status: 'sold' });
      expectAdded(await service.create(body), { categoryId });
    },
  },
  extremeCategory('NewPet.categoryId.largest', INT64_MAX, 'largest'),
  extremeCategory('NewPet.categoryId.smallest', INT64_MIN, 'smallest'),
  {
    kind: 'service',
    id: 'NewPet.status',
    section,
    sentence: 'NewPet.status: not required. An animal can be added without it.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('no status');
      const body = newPetText({ name, categoryId: await service.categoryId() });
      expectAdded(await service.create(body), { name });
    },
  },
];

function extremeCategory(id: string, categoryId: bigint, which: string): Clause {
  return {
    kind: 'service',
    id,
    section,
    sentence: `NewPet.categoryId: int64. The ${which}, ${categoryId}, comes back with the same digits.`,
    writes: true,
    check: async (service) => {
      const name = service.nameOf(`${which} category`);
      const exchange = await service.create(newPetText({ name, categoryId, status: 'sold' }));
      if (exchange.status === 400 && !(await acceptsAnyCategory(service))) {
        throw new NotCheckable(
          'the service accepts only known categories, and the specification does not forbid that',
        );
      }
      expectAdded(exchange, { categoryId });
    },
  };
}

/** Distinguishes a service that accepts only known categories, which it may, from one without int64. */
async function acceptsAnyCategory(service: ServiceUnderCheck): Promise<boolean> {
  const name = service.nameOf('unlikely category');
  const exchange = await service.create(
    newPetText({ name, categoryId: UNLIKELY_CATEGORY_ID, status: 'sold' }),
  );
  return exchange.status === 201;
}
