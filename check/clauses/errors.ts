import type { Clause } from '../clause.ts';
import { expectError, expectErrorBody, expectThat } from '../expect.ts';
import { OPERATIONS } from '../operations.ts';
import { requireGetPet } from '../removal.ts';
import type { ServiceUnderCheck } from '../service-under-check.ts';
import { isRecord, type SeenPet } from '../shapes.ts';
import { INT64_MAX, LIMIT_MAX, PET_STATUSES } from '../specification.ts';
import { Broken, NotCheckable } from '../verdict.ts';
import { errorsOf } from './error-body.ts';
import { INVALID_BODIES } from './invalid-bodies.ts';

const section = 'Errors';

export const ERRORS: Clause[] = [
  {
    kind: 'service',
    id: 'Errors.body',
    section,
    sentence: 'All error responses carry the Error body (code, message, status).',
    writes: false,
    afterwards: true,
    check: (service) => {
      for (const exchange of errorsOf(service)) expectErrorBody(exchange);
    },
  },
  {
    kind: 'service',
    id: 'Errors.status',
    section,
    sentence: 'status in the Error body is equal to the HTTP status code of the response.',
    writes: false,
    afterwards: true,
    check: (service) => {
      for (const exchange of errorsOf(service)) {
        const { body, status } = exchange;
        const isEqual = isRecord(body) && body['status'] === BigInt(status);
        expectThat(isEqual, exchange, `an Error body with the status ${status}`);
      }
    },
  },
  ...INVALID_BODIES,
  {
    kind: 'service',
    id: 'Errors.nothing-added',
    section,
    sentence: 'A request to add an animal that gets an error response adds no animal.',
    writes: true,
    afterwards: true,
    check: expectNothingAdded,
  },
  ...OPERATIONS.map(({ operation, title, writes, send }): Clause => ({
    kind: 'service',
    id: `Errors.401.${operation}`,
    section,
    sentence: `401, all operations: ${title} with an invalid API key.`,
    writes,
    check: async (service) => expectError(await send(service, 'wrong key'), 401),
  })),
  {
    kind: 'service',
    id: 'Errors.404',
    section,
    sentence: '404, GET /pets/{petId}: no animal with that identifier.',
    writes: false,
    check: async (service) => {
      requireGetPet(service.subject.now);
      for (const id of [INT64_MAX - 1n, INT64_MAX / 2n]) expectError(await service.get(id), 404);
    },
  },
];

/** Looks for animals that must not be stored. The check gave them a name or a category of its own. */
async function expectNothingAdded(service: ServiceUnderCheck): Promise<void> {
  const { unwantedCategoryId } = service.subject;
  const unwantedName = service.nameOf('unwanted');
  const created = new Set(service.created.map(({ id }) => id));
  const isUnwanted = ({ id, name, categoryId }: SeenPet) =>
    !created.has(id) && (categoryId === unwantedCategoryId || name.startsWith(unwantedName));

  const seen = new Set<bigint>();
  for (const filter of ['', ...PET_STATUSES.map((status) => `&status=${status}`)]) {
    const pets = await service.catalogue(filter);
    const unwanted = pets.find(isUnwanted);
    if (unwanted !== undefined) {
      const request = `GET /pets?limit=${LIMIT_MAX}${filter} with the key`;
      const response = `a list with the animal ${unwanted.id}, "${unwanted.name}"`;
      throw new Broken({ request, response }, 'a list without it, because it was refused');
    }
    for (const { id } of pets) seen.add(id);
  }
  // If the list does not show the animals that were added, the absence of others proves nothing.
  if (created.size === 0 || !created.isSubsetOf(seen)) {
    throw new NotCheckable('the list does not show all animals that this check has added');
  }
}
