import { findLink } from '../../sdk/src/link.ts';
import type { Clause } from '../clause.ts';
import type { Exchange } from '../client.ts';
import { expectError, expectPets, expectThat, isRefused } from '../expect.ts';
import { LIMIT_MAX, LIMIT_MIN, PET_STATUSES, type PetStatus } from '../specification.ts';
import type { ServiceUnderCheck } from '../service-under-check.ts';
import { NotCheckable } from '../verdict.ts';

const section = 'Endpoints';

export const LIST_PETS: Clause[] = [
  {
    kind: 'service',
    id: 'listPets.200',
    section,
    sentence: 'GET /pets: 200, JSON array of Pet.',
    writes: false,
    check: async (service) => {
      expectPets(await service.list(''));
    },
  },
  {
    kind: 'service',
    id: 'listPets.pages',
    section,
    sentence:
      'GET /pets returns a paginated list: no animal is on a page and on the one beside it.',
    writes: false,
    check: checkPages,
  },
  {
    kind: 'service',
    id: 'listPets.limit',
    section,
    sentence: 'GET /pets, limit: maximum number of animals to return.',
    writes: false,
    check: async (service) => {
      await service.catalogueOf(3);
      for (const limit of [1, 2]) {
        const exchange = await service.list(`?limit=${limit}`);
        const { length } = expectPets(exchange);
        expectThat(length <= limit, exchange, `at most ${limit} animals, not ${length}`);
      }
    },
  },
  {
    kind: 'service',
    id: 'listPets.limit.range',
    section,
    sentence: 'GET /pets, limit: minimum 1, maximum 100; both are accepted.',
    writes: false,
    check: async (service) => {
      for (const limit of [LIMIT_MIN, LIMIT_MAX]) {
        const exchange = await service.list(`?limit=${limit}`);
        expectThat(exchange.status === 200, exchange, '200');
      }
    },
  },
  {
    kind: 'service',
    id: 'listPets.limit.integer',
    section,
    sentence: 'GET /pets, limit: integer. Anything else is refused, or at least the bounds hold.',
    writes: false,
    check: async (service) => {
      for (const limit of ['many', '1.5']) {
        const exchange = await service.list(`?limit=${limit}`);
        if (isRefused(exchange)) continue;
        const { length } = expectPets(exchange);
        expectThat(length <= LIMIT_MAX, exchange, `4xx, or at most ${LIMIT_MAX} animals`);
      }
    },
  },
  ...PET_STATUSES.map(filteredBy),
  {
    kind: 'service',
    id: 'listPets.status.one-of',
    section,
    sentence: 'GET /pets, status: one of the three. For any other there is an error or no animal.',
    writes: false,
    check: async (service) => {
      await service.catalogueOf(1);
      const exchange = await service.list('?status=lost');
      if (isRefused(exchange)) return;
      const { length } = expectPets(exchange);
      expectThat(length === 0, exchange, '4xx, or 200 with an empty array');
    },
  },
  {
    kind: 'service',
    id: 'listPets.limit-and-status',
    section,
    sentence: 'GET /pets, limit and status together: both hold.',
    writes: false,
    check: async (service) => {
      const pets = await service.catalogueOf(1);
      const status = PET_STATUSES.find(
        (known) => pets.filter((pet) => pet.status === known).length > 1,
      );
      if (status === undefined) throw new NotCheckable('no two animals share a status');
      const exchange = await service.list(`?limit=1&status=${status}`);
      const listed = expectPets(exchange);
      const holds = listed.length <= 1 && listed.every((pet) => pet.status === status);
      expectThat(holds, exchange, `at most one animal, and its status is ${status}`);
    },
  },
  {
    kind: 'service',
    id: 'listPets.401',
    section,
    sentence: 'GET /pets: 401, Error, when the API key is missing.',
    writes: false,
    check: async (service) => expectError(await service.list('', 'none'), 401),
  },
];

/**
 * The specification does not say how a client gets another page. Where a service offers the usual way, links of
 * RFC 8288, they must lead to other animals; it need not offer any of them.
 */
async function checkPages(service: ServiceUnderCheck): Promise<void> {
  const first = '?limit=1';
  const last = queryOfLink(service, await service.list(first), 'last');
  const isNextFollowed = await checkBeside(service, first, 'next');
  const isPreviousFollowed = last !== undefined && (await checkBeside(service, last, 'prev'));
  if (!isNextFollowed && !isPreviousFollowed) {
    throw new NotCheckable('the list links to no other page, and the specification requires none');
  }
}

/** Returns whether the page has such a link. */
async function checkBeside(
  service: ServiceUnderCheck,
  query: string,
  relation: 'next' | 'prev',
): Promise<boolean> {
  const page = await service.list(query);
  const ids = expectPets(page).map(({ id }) => id);
  const queryBeside = queryOfLink(service, page, relation);
  if (queryBeside === undefined) return false;
  const beside = await service.list(queryBeside);
  const isOther = expectPets(beside).every(({ id }) => !ids.includes(id));
  if (!isOther) {
    // Where pages are counted from the start of the list, an animal that others add moves all of them.
    const again = expectPets(await service.list(query));
    if (again.some(({ id }) => !ids.includes(id))) {
      throw new NotCheckable('others have added animals meanwhile');
    }
  }
  expectThat(isOther, beside, `none of the animals of the page that links to it as ${relation}`);
  return true;
}

/** Only the query of a link is used, so that the key is sent to no other address. */
function queryOfLink(
  service: ServiceUnderCheck,
  { headers }: Exchange,
  relation: string,
): string | undefined {
  const target = findLink(headers, relation);
  if (target === undefined) return undefined;
  const { pathname, search } = new URL(target, `${service.subject.base}/pets`);
  return pathname.endsWith('/pets') ? search : undefined;
}

function filteredBy(status: PetStatus): Clause {
  return {
    kind: 'service',
    id: `listPets.status.${status}`,
    section,
    sentence: `GET /pets?status=${status}: return only animals with this status.`,
    writes: false,
    check: async (service) => {
      const all = await service.catalogue();
      const countMin = all.filter((pet) => pet.status === status).length;
      const exchange = await service.list(`?status=${status}&limit=${LIMIT_MAX}`);
      const listed = expectPets(exchange);
      const others = listed.filter((pet) => pet.status !== status).length;
      expectThat(others === 0, exchange, `only animals that are ${status}; ${others} are not`);
      // The unfiltered list came first and animals are never removed, so all of them must match.
      expectThat(
        listed.length >= countMin,
        exchange,
        `at least ${countMin} animals, the number that are ${status} in the unfiltered list`,
      );
      if (listed.length === 0) {
        throw new NotCheckable(`no animal is ${status}; --write adds one`);
      }
    },
  };
}
