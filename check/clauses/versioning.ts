import type { Clause } from '../clause.ts';
import { expectErrorBody, expectThat } from '../expect.ts';
import { requireRemovedGetPet } from '../removal.ts';

const section = 'Versioning';

export const VERSIONING: Clause[] = [
  {
    kind: 'uncheckable',
    id: 'version',
    section,
    sentence: 'The interface version is 1.0.0.',
    why: 'the specification names no response that shows it; the path prefix /v1 is checked under Introduction',
  },
  {
    kind: 'service',
    id: 'getPet.removed',
    section,
    sentence: 'GET /pets/{petId} is removed on 5 December 2030.',
    writes: false,
    check: async (service) => {
      requireRemovedGetPet(service.subject.now);
      const [pet] = await service.catalogueOf(1);
      const exchange = await service.get(pet?.id ?? 1n);
      expectThat(exchange.status >= 400, exchange, 'an error, because the operation was removed');
      expectErrorBody(exchange);
    },
  },
];
