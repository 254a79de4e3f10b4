// A short run of drills/linearizability, and its checker against an exhaustive search.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { WirePet } from '../../harness/client.ts';
import {
  findViolations,
  type CommandRecord,
  type CreateRecord,
  type History,
  type ReadRecord,
} from './checker.ts';
import { drillLinearizability } from './drill.ts';
import type { StoreName } from './processes.ts';

const HISTORIES = 6;
const TIME_MAX = 9;

type Time = readonly [startMs: number, endMs: number];

const onProgress = () => undefined;
const newPet = (id: number, status = 'sold'): WirePet => ({
  id,
  name: `animal-${id}`,
  categoryId: 1,
  status,
});

function create(id: number, [startMs, endMs]: Time): CreateRecord {
  const pet = newPet(id);
  return { name: pet.name, status: pet.status, startMs, endMs, pet };
}

/** Without a status, a removal. */
function change(id: number, status: string | undefined, [startMs, endMs]: Time): CommandRecord {
  return { ids: [id], status, startMs, endMs };
}

function list(pets: readonly (number | WirePet)[], [startMs, endMs]: Time): ReadRecord {
  const page = { kind: 'list', afterId: 0, status: undefined, limit: 100, hasNext: false } as const;
  const shown = pets.map((pet) => (typeof pet === 'number' ? newPet(pet) : pet));
  return { request: 'GET', startMs, endMs, observed: { ...page, pets: shown } };
}

const violationsOf = (history: Partial<History>) =>
  findViolations({ creates: [], commands: [], reads: [], ...history });

/** The animals after a write. */
function afterWrite(
  pets: readonly WirePet[],
  write: CreateRecord | CommandRecord,
): readonly WirePet[] {
  if ('pet' in write) return write.pet === undefined ? pets : [...pets, write.pet];
  const { ids, status } = write;
  return pets.flatMap((pet) => {
    if (!ids.includes(pet.id)) return [pet];
    return status === undefined ? [] : [{ ...pet, status }];
  });
}

/** Tries every order in which no operation precedes one that had ended before it started. */
function isExplainedBySomeOrder({ creates, commands, reads }: History): boolean {
  type Operation = CreateRecord | CommandRecord | ReadRecord;
  const append = (pets: readonly WirePet[], rest: readonly Operation[]): boolean =>
    rest.length === 0 ||
    rest.some((next) => {
      if (rest.some((other) => other.endMs < next.startMs)) return false;
      const others = rest.filter((other) => other !== next);
      if ('observed' in next) {
        const seen = next.observed.kind === 'list' ? next.observed.pets : [];
        return JSON.stringify(seen) === JSON.stringify(pets) && append(pets, others);
      }
      // Creates are in the order of their ids, and commands in the order in which they ran.
      const same: readonly Operation[] = 'pet' in next ? creates : commands;
      const isNext = rest.find((other) => same.includes(other)) === next;
      const isPossible =
        'pet' in next || next.ids.every((each) => pets.some(({ id }) => id === each));
      return isNext && isPossible && append(afterWrite(pets, next), others);
    });
  return append([], [...creates, ...commands, ...reads]);
}

describe('The checker of the histories', () => {
  test('agrees with an exhaustive search', () => {
    const time = fc
      .tuple(fc.nat(TIME_MAX), fc.nat(TIME_MAX))
      .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);
    const status = fc.constantFrom('available', undefined);
    const histories = fc.record({
      creates: fc.array(time, { minLength: 1, maxLength: 3 }),
      commands: fc.array(fc.record({ time, id: fc.integer({ min: 1, max: 3 }), status }), {
        maxLength: 2,
      }),
      reads: fc.array(fc.record({ time, creates: fc.nat(3), commands: fc.nat(2) }), {
        maxLength: 3,
      }),
    });
    const outcomes = { true: 0, false: 0 };
    fc.assert(
      fc.property(histories, (made) => {
        const creates = made.creates.map((each, index) => create(index + 1, each));
        const commands = made.commands.map((each) => change(each.id, each.status, each.time));
        const reads = made.reads.map((read) => {
          const writes = [...creates.slice(0, read.creates), ...commands.slice(0, read.commands)];
          return list(writes.reduce(afterWrite, [] as readonly WirePet[]), read.time);
        });
        const history = { creates, commands, reads };
        const isExplained = isExplainedBySomeOrder(history);
        outcomes[`${isExplained}`] += 1;
        assert.equal(findViolations(history).length === 0, isExplained);
      }),
      { numRuns: 2_000 },
    );
    assert.ok(Math.min(outcomes.true, outcomes.false) > 100, JSON.stringify(outcomes));
  });

  for (const [fault, history] of Object.entries<Partial<History>>({
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
    'a command that changed nothing': {
      creates: [create(1, [0, 1])],
      commands: [change(1, 'available', [2, 3])],
      reads: [list([1], [4, 5])],
    },
    'a command that is visible before it starts': {
      creates: [create(1, [0, 1])],
      commands: [change(1, undefined, [4, 5])],
      reads: [list([], [2, 3])],
    },
    'a change that is seen and then no longer': {
      creates: [create(1, [0, 1])],
      commands: [change(1, 'available', [2, 9])],
      reads: [list([newPet(1, 'available')], [3, 4]), list([1], [5, 6])],
    },
    'a create and a command that two readers see in another order': {
      creates: [create(1, [0, 1]), create(2, [2, 9])],
      commands: [change(1, 'available', [2, 9])],
      reads: [list([1, 2], [3, 8]), list([newPet(1, 'available')], [3, 8])],
    },
    'a response with an animal of another create': {
      creates: [create(1, [0, 1]), { ...create(1, [0, 1]), name: 'other' }],
      reads: [],
    },
  })) {
    test(`finds ${fault}`, () => {
      assert.notDeepEqual(violationsOf(history), []);
    });
  }

  test('accepts a create whose response was lost, whether it has happened or not', () => {
    const lost = { ...create(1, [0, Number.POSITIVE_INFINITY]), pet: undefined };
    const stored = { creates: [lost], reads: [list([], [1, 2]), list([1], [3, 4])] };
    assert.deepEqual(violationsOf(stored), []);
    assert.deepEqual(violationsOf({ creates: [lost], reads: [list([], [3, 4])] }), []);
  });
});

/** With killed processes, cut connections, and commands. */
async function runShort(store: StoreName): Promise<void> {
  const options = { rounds: HISTORIES, seed: 6, stores: [store], onProgress };
  const { violations, passed, figures } = await drillLinearizability(options);
  assert.deepEqual(violations, []);
  assert.equal(passed, HISTORIES);
  assert.notEqual(figures['commands'], `${store} 0`);
}

test('SQLite: once a catalogue command has returned, no read is stale, no id is given again, and no walk misses an animal', () =>
  runShort('SQLite'));

test('PostgreSQL: once a catalogue command has returned, no read is stale, no id is given again, and no walk misses an animal', () =>
  runShort('PostgreSQL'));
