// The checker of the histories, against an exhaustive search.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { WirePet } from '../../harness/client.ts';
import {
  findViolations,
  type ChangeRecord,
  type CommandRecord,
  type CreateRecord,
  type History,
  type ReadRecord,
} from './checker.ts';

const TIME_MAX = 9;

type Time = readonly [startMs: number, endMs: number];

const newPet = (id: number, status = 'sold', categoryId = 1): WirePet => ({
  id,
  name: `animal-${id}`,
  categoryId,
  status,
});

function create(id: number, [startMs, endMs]: Time): CreateRecord {
  const pet = newPet(id);
  return { name: pet.name, status: pet.status, startMs, endMs, pet };
}

/** Without a status, a removal. */
function command(id: number, status: string | undefined, [startMs, endMs]: Time): CommandRecord {
  return { ids: [id], status, startMs, endMs };
}

/** By a person, from and to a category. Without the second one, a removal. */
function change(
  id: number,
  [from, to]: readonly [from: number, to: number | undefined],
  [startMs, endMs]: Time,
  outcome: ChangeRecord['outcome'] = 'done',
): ChangeRecord {
  const wanted = to === undefined ? undefined : newPet(id, 'sold', to);
  return { from: newPet(id, 'sold', from), to: wanted, startMs, endMs, outcome };
}

function list(pets: readonly (number | WirePet)[], [startMs, endMs]: Time): ReadRecord {
  const page = { kind: 'list', afterId: 0, status: undefined, limit: 100, hasNext: false } as const;
  const shown = pets.map((pet) => (typeof pet === 'number' ? newPet(pet) : pet));
  return { request: 'GET', startMs, endMs, observed: { ...page, pets: shown } };
}

const violationsOf = (history: Partial<History>) =>
  findViolations({ creates: [], changes: [], commands: [], reads: [], ...history });

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

type Write = CreateRecord | CommandRecord | ChangeRecord;

/** The animals after a write. */
function afterWrite(pets: readonly WirePet[], write: Write): readonly WirePet[] {
  if ('pet' in write) return write.pet === undefined ? pets : [...pets, write.pet];
  if ('outcome' in write) {
    const { from, to } = write;
    return pets.flatMap((pet) => {
      if (!isSame(pet, from)) return [pet];
      return to === undefined ? [] : [to];
    });
  }
  const { ids, status } = write;
  return pets.flatMap((pet) => {
    if (!ids.includes(pet.id)) return [pet];
    return status === undefined ? [] : [{ ...pet, status }];
  });
}

/** Whether the operation may take place where these animals are. */
function isPossible(next: Write | ReadRecord, pets: readonly WirePet[]): boolean {
  if ('observed' in next) {
    return isSame(next.observed.kind === 'list' ? next.observed.pets : [], pets);
  }
  if ('ids' in next) return next.ids.every((each) => pets.some(({ id }) => id === each));
  if ('pet' in next) return true;
  const { from, to, outcome } = next;
  const found = pets.find(({ id }) => id === from.id);
  if (outcome === 'gone') return found === undefined;
  if (outcome === 'changed') {
    return found !== undefined && !isSame(found, from) && !isSame(found, to);
  }
  return isSame(found, from);
}

/** Tries every order in which no operation precedes one that had ended before it started. */
function isExplainedBySomeOrder({ creates, changes, commands, reads }: History): boolean {
  type Operation = Write | ReadRecord;
  const append = (pets: readonly WirePet[], rest: readonly Operation[]): boolean =>
    rest.length === 0 ||
    rest.some((next) => {
      if (rest.some((other) => other.endMs < next.startMs)) return false;
      const others = rest.filter((other) => other !== next);
      const isChange = 'outcome' in next;
      if (isChange && next.outcome === 'unknown' && append(pets, others)) return true;
      // Creates are in the order of their ids, and commands in the order in which they ran.
      const same = [creates, commands].find((all: readonly Operation[]) => all.includes(next));
      const isNext =
        same === undefined ||
        rest.find((other) => (same as readonly Operation[]).includes(other)) === next;
      if (!isNext || !isPossible(next, pets)) return false;
      const isWrite = !('observed' in next) && !(isChange && /changed|gone/.test(next.outcome));
      return append(isWrite ? afterWrite(pets, next) : pets, others);
    });
  return append([], [...creates, ...changes, ...commands, ...reads]);
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
      changes: fc.array(
        fc.record({
          time,
          id: fc.integer({ min: 1, max: 2 }),
          from: fc.constantFrom(1, 1, 10),
          isRemoval: fc.boolean(),
          outcome: fc.constantFrom('done', 'done', 'changed', 'gone', 'unknown'),
        }),
        { maxLength: 2 },
      ),
      reads: fc.array(
        fc.record({ time, creates: fc.nat(3), changes: fc.nat(2), commands: fc.nat(2) }),
        { maxLength: 3 },
      ),
    });
    const outcomes = { true: 0, false: 0 };
    fc.assert(
      fc.property(histories, (made) => {
        const creates = made.creates.map((each, index) => create(index + 1, each));
        const commands = made.commands.map((each) => command(each.id, each.status, each.time));
        const changes = made.changes.map(
          ({ id, from, isRemoval, time: [startMs, endMs], outcome }, index) =>
            change(
              id,
              [from, isRemoval ? undefined : 10 + index],
              [startMs, outcome === 'unknown' ? Number.POSITIVE_INFINITY : endMs],
              outcome,
            ),
        );
        const reads = made.reads.map((read) => {
          const writes = [
            ...creates.slice(0, read.creates),
            ...changes.slice(0, read.changes),
            ...commands.slice(0, read.commands),
          ];
          return list(writes.reduce(afterWrite, [] as readonly WirePet[]), read.time);
        });
        const history = { creates, changes, commands, reads };
        const isExplained = isExplainedBySomeOrder(history);
        outcomes[`${isExplained}`] += 1;
        assert.equal(findViolations(history).length === 0, isExplained);
      }),
      { numRuns: 3_000 },
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
      commands: [command(1, 'available', [2, 3])],
      reads: [list([1], [4, 5])],
    },
    'a command that is visible before it starts': {
      creates: [create(1, [0, 1])],
      commands: [command(1, undefined, [4, 5])],
      reads: [list([], [2, 3])],
    },
    'a change that is seen and then no longer': {
      creates: [create(1, [0, 1])],
      commands: [command(1, 'available', [2, 9])],
      reads: [list([newPet(1, 'available')], [3, 4]), list([1], [5, 6])],
    },
    'a create and a command that two readers see in another order': {
      creates: [create(1, [0, 1]), create(2, [2, 9])],
      commands: [command(1, 'available', [2, 9])],
      reads: [list([1, 2], [3, 8]), list([newPet(1, 'available')], [3, 8])],
    },
    'two changes of what both persons saw': {
      creates: [create(1, [0, 1])],
      changes: [change(1, [1, 10], [2, 9]), change(1, [1, 11], [2, 9])],
    },
    'a change that was refused without a reason': {
      creates: [create(1, [0, 1])],
      changes: [change(1, [1, 10], [2, 3], 'changed')],
    },
    'a change that was applied to what was no longer there': {
      creates: [create(1, [0, 1])],
      changes: [change(1, [1, undefined], [2, 3]), change(1, [1, 10], [4, 5])],
    },
    'a change that is lost': {
      creates: [create(1, [0, 1])],
      changes: [change(1, [1, 10], [2, 3])],
      reads: [list([1], [4, 5])],
    },
    'a change that was refused and is there': {
      creates: [create(1, [0, 1])],
      changes: [change(1, [7, 10], [2, 3], 'changed')],
      reads: [list([newPet(1, 'sold', 10)], [4, 5])],
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

  test('accepts a change whose response was lost, whether it has happened or not', () => {
    const creates = [create(1, [0, 1])];
    const changes = [change(1, [1, 10], [2, Number.POSITIVE_INFINITY], 'unknown')];
    const after = [list([1], [3, 4]), list([newPet(1, 'sold', 10)], [5, 6])];
    assert.deepEqual(violationsOf({ creates, changes, reads: after }), []);
    assert.deepEqual(violationsOf({ creates, changes, reads: after.slice(0, 1) }), []);
    const undone = [list([newPet(1, 'sold', 10)], [3, 4]), list([1], [5, 6])];
    assert.notDeepEqual(violationsOf({ creates, changes, reads: undone }), []);
  });
});
