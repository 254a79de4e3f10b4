import type { Clause } from '../clause.ts';
import { expectPets, expectThat, isRefused } from '../expect.ts';
import { newPetText, type ServiceUnderCheck } from '../service-under-check.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../specification.ts';

const section = 'Limits';

export const LIMITS: Clause[] = [
  outsideBounds('limit.minimum', 'limit minimum on GET /pets: 1. Below it, an error', ['0', '-1']),
  outsideBounds('limit.maximum', 'limit maximum on GET /pets: 100. Above it, an error', [
    String(LIMIT_MAX + 1),
    '1000',
  ]),
  {
    kind: 'service',
    id: 'limit.default',
    section,
    sentence: 'limit default on GET /pets: 20. Without limit the list is that of limit=20.',
    writes: false,
    check: async (service) => {
      await ensureAnimals(service, LIMIT_DEFAULT + 1);
      // Other clients may add animals meanwhile, so this list is compared with one before and one after it.
      const before = expectPets(await service.list(`?limit=${LIMIT_DEFAULT}`)).length;
      const exchange = await service.list('');
      const { length } = expectPets(exchange);
      const after = expectPets(await service.list(`?limit=${LIMIT_DEFAULT}`)).length;
      expectThat(length <= LIMIT_DEFAULT, exchange, `at most ${LIMIT_DEFAULT} animals`);
      const isBetween = before <= length && length <= after;
      expectThat(isBetween, exchange, `${after} animals, as with limit=20, and not ${length}`);
      await service.catalogueOf(LIMIT_DEFAULT + 1);
    },
  },
];

/** The specification states the bounds, not what happens outside them: an error, or a list within them. */
function outsideBounds(id: string, sentence: string, limits: string[]): Clause {
  return {
    kind: 'service',
    id,
    section,
    sentence: `${sentence} or no more than ${LIMIT_MAX} animals.`,
    writes: false,
    check: async (service) => {
      let isRefusedAlways = true;
      for (const limit of limits) {
        const exchange = await service.list(`?limit=${limit}`);
        if (isRefused(exchange)) continue;
        isRefusedAlways = false;
        const { length } = expectPets(exchange);
        expectThat(length <= LIMIT_MAX, exchange, `4xx, or at most ${LIMIT_MAX} animals`);
      }
      if (!isRefusedAlways) await service.catalogueOf(LIMIT_MAX);
    },
  };
}

/** Adds animals, if that is allowed, until the list can show as many as a clause needs. */
async function ensureAnimals(service: ServiceUnderCheck, count: number): Promise<void> {
  const missing = count - (await service.catalogue()).length;
  if (!service.subject.mayWrite) return;
  const categoryId = await service.categoryId();
  for (let added = 0; added < missing; added += 1) {
    const name = service.nameOf(`one of ${count}`);
    const { status } = await service.create(newPetText({ name, categoryId, status: 'sold' }));
    if (status !== 201) return;
  }
}
