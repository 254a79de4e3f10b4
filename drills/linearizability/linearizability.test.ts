// A short run of drills/linearizability, and its checker against an exhaustive search.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  findViolations,
  type CreateRecord,
  type History,
  type ReadRecord,
  type SeenPet,
} from './checker.ts';
import { drill, drillLinearizability } from './drill.ts';

const HISTORIES = 6;
const TIME_MAX = 9;

const onProgress = () => undefined;
const newPet = (id: number): SeenPet => ({
  id,
  name: `animal-${id}`,
  categoryId: 1,
  status: 'sold',
});

function create(id: number, [startMs, endMs]: readonly [number, number]): CreateRecord {
  const pet = newPet(id);
  return { name: pet.name, status: pet.status, startMs, endMs, pet };
}

function list(ids: readonly number[], [startMs, endMs]: readonly [number, number]): ReadRecord {
  const page = { kind: 'list', afterId: 0, status: undefined, limit: 100, hasNext: false } as const;
  return { request: 'GET', startMs, endMs, observed: { ...page, pets: ids.map(newPet) } };
}

/** Tries every order in which no operation precedes one that had ended before it started. */
function isExplainedBySomeOrder({ creates, reads }: History): boolean {
  const append = (done: readonly number[], rest: readonly (CreateRecord | ReadRecord)[]): boolean =>
    rest.length === 0 ||
    rest.some((next) => {
      if (rest.some((other) => other.endMs < next.startMs)) return false;
      const others = rest.filter((other) => other !== next);
      if ('pet' in next) {
        const id = next.pet?.id ?? 0;
        return id > (done.at(-1) ?? 0) && append([...done, id], others);
      }
      const { observed } = next;
      const seen = observed.kind === 'list' ? observed.pets.map(({ id }) => id) : [];
      return seen.join() === done.join() && append(done, others);
    });
  return append([], [...creates, ...reads]);
}

describe('The checker of the histories', () => {
  test('agrees with an exhaustive search', () => {
    const time = fc
      .tuple(fc.nat(TIME_MAX), fc.nat(TIME_MAX))
      .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);
    const creates = fc.array(time, { minLength: 1, maxLength: 3 });
    const reads = fc.array(fc.record({ time, seen: fc.nat(3) }), { maxLength: 3 });
    const outcomes = new Set<boolean>();
    fc.assert(
      fc.property(creates, reads, (createTimes, readTimes) => {
        const ids = createTimes.map((_, index) => index + 1);
        const history = {
          creates: createTimes.map((each, index) => create(index + 1, each)),
          reads: readTimes.map(({ time: each, seen }) => list(ids.slice(0, seen), each)),
        };
        const isExplained = isExplainedBySomeOrder(history);
        outcomes.add(isExplained);
        assert.equal(findViolations(history).length === 0, isExplained);
      }),
      { numRuns: 2_000 },
    );
    assert.equal(outcomes.size, 2);
  });

  for (const [fault, history] of Object.entries<History>({
    'a stale read': { creates: [create(1, [0, 1])], reads: [list([], [2, 3])] },
    'a read of the future': { creates: [create(1, [4, 5])], reads: [list([1], [2, 3])] },
    'a lower id that is stored later': {
      creates: [create(1, [0, 9]), create(2, [0, 9])],
      reads: [list([2], [2, 3])],
    },
    'ids in another order than the commits': {
      creates: [create(1, [5, 6]), create(2, [0, 1])],
      reads: [],
    },
    'an animal that disappears': {
      creates: [create(1, [0, 9])],
      reads: [list([1], [1, 2]), list([], [3, 4])],
    },
    'an animal that nobody created': { creates: [], reads: [list([1], [1, 2])] },
    'an id that is given twice': {
      creates: [
        create(1, [0, 1]),
        { ...create(1, [0, 1]), name: 'other', pet: { ...newPet(1), name: 'other' } },
      ],
      reads: [],
    },
    'a response with an animal of another create': {
      creates: [create(1, [0, 1]), { ...create(1, [0, 1]), name: 'other' }],
      reads: [],
    },
  })) {
    test(`finds ${fault}`, () => {
      assert.notDeepEqual(findViolations(history), []);
    });
  }

  test('accepts a create whose response was lost, whether it has happened or not', () => {
    const lost = { ...create(1, [0, Number.POSITIVE_INFINITY]), pet: undefined };
    const stored = { creates: [lost], reads: [list([], [1, 2]), list([1], [3, 4])] };
    assert.deepEqual(findViolations(stored), []);
    assert.deepEqual(findViolations({ creates: [lost], reads: [list([], [3, 4])] }), []);
  });
});

for (const store of ['SQLite', 'PostgreSQL'] as const) {
  test(`${store}: several processes, killed and cut off: one moment explains every create, list and get`, async () => {
    const options = { rounds: HISTORIES, seed: 6, stores: [store], onProgress };
    const { violations, passed } = await drillLinearizability(options);
    assert.deepEqual(violations, []);
    assert.equal(passed, HISTORIES);
  });
}

test('the drill finds a cache that does not check the version of the store', async () => {
  const options = { rounds: HISTORIES, seed: 3, stores: ['SQLite'], onProgress };
  const { violations } = await drill.control.run(options);
  assert.ok(violations.some((text) => text.includes('did not see it')));
});
