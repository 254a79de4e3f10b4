import type { Clause } from '../clause.ts';
import { expectAdded, expectError, expectThat } from '../expect.ts';
import { newPetText } from '../service-under-check.ts';
import { PET_STATUSES, type PetStatus } from '../specification.ts';
import { fieldOfEveryPet } from './pet.ts';

const section = 'States and transitions';

export const STATES: Clause[] = [
  fieldOfEveryPet('status', 'The status of an animal is available, pending or sold.'),
  ...PET_STATUSES.map(allowedStatus),
  {
    kind: 'service',
    id: 'PetStatus.exactly',
    section,
    sentence: 'A status is a string with exactly these allowed values: any other is refused.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('unwanted: unknown status');
      for (const status of ['lost', 'Available', '']) {
        const categoryId = service.subject.unwantedCategoryId;
        expectError(await service.create(newPetText({ name, categoryId, status })), 400);
      }
    },
  },
  {
    kind: 'service',
    id: 'PetStatus.filter',
    section,
    sentence: 'The status filter on the list operation uses the same values.',
    writes: false,
    check: async (service) => {
      for (const status of PET_STATUSES) {
        const exchange = await service.list(`?status=${status}&limit=1`);
        expectThat(exchange.status === 200, exchange, '200');
      }
    },
  },
];

function allowedStatus(status: PetStatus): Clause {
  return {
    kind: 'service',
    id: `PetStatus.${status}`,
    section,
    sentence: `${status} is an allowed value: an animal can be added with it and has it.`,
    writes: true,
    check: async (service) => {
      const name = service.nameOf(status);
      const categoryId = await service.categoryId();
      expectAdded(await service.create(newPetText({ name, categoryId, status })), { status });
    },
  };
}
