// Checks a history of creates, changes, commands and reads against the simplest model of the catalogue. It knows
// nothing of the service.

import type { WirePet } from '../../harness/client.ts';

interface Times {
  startMs: number;
  /** Infinity if the response was lost: it may take place at any later moment, or never. */
  endMs: number;
}

/** A create, from just before it was first sent until just after its response was received. */
export interface CreateRecord extends Times {
  name: string;
  status: string;
  /** Of the response. */
  pet: WirePet | undefined;
}

/** A change in the console. It must be applied to what the person saw, or refused. */
export interface ChangeRecord extends Times {
  from: WirePet;
  /** Undefined if it removes the animal. Two changes never have the same animal here. */
  to: WirePet | undefined;
  /** `unknown` if a response was lost, unless a repeated request was told that it is done. */
  outcome: 'done' | 'changed' | 'gone' | 'unknown';
}

/** A command of `petstore catalogue` that has succeeded. Commands run one after the other. */
export interface CommandRecord extends Times {
  ids: readonly number[];
  /** Undefined if it has removed the animals. */
  status: string | undefined;
}

export interface ReadRecord extends Times {
  /** For messages, such as "GET /pets?limit=2". */
  request: string;
  observed: Observation;
}

export type Observation =
  | {
      kind: 'list';
      afterId: number;
      status: string | undefined;
      limit: number;
      pets: readonly WirePet[];
      hasNext: boolean;
    }
  | { kind: 'get'; id: number; pet: WirePet | undefined };

export interface History {
  creates: readonly CreateRecord[];
  changes: readonly ChangeRecord[];
  /** In the order in which they ran. */
  commands: readonly CommandRecord[];
  reads: readonly ReadRecord[];
}

/** A create that is known to have happened. */
interface Commit extends Times {
  pet: WirePet;
}

/**
 * Returns one sentence per violation. A history without any can be explained by one order of its operations: none
 * precedes one that had ended before it started, the creates are in the order of their ids, the commands in the order
 * in which they ran, each change finds the animal as it was seen, and each read returns what is there at its place.
 */
export function findViolations({ creates, changes, commands, reads }: History): string[] {
  const violations: string[] = [];
  const commits = findCommits(creates, reads, violations);
  const applied = changes.filter((change) => !isRefused(change));
  const lanes = [commits, commands, ...applied.map((change) => [change])];
  const blocking = new Search(lanes, [...reads, ...changes.filter(isRefused)]).run();
  if (blocking !== undefined) {
    violations.push(`no order of the operations explains ${describe(blocking)}`);
  }
  return violations;
}

const isRefused = ({ outcome }: ChangeRecord) => outcome === 'changed' || outcome === 'gone';

type Write = Commit | CommandRecord | ChangeRecord;
/** What changes nothing: a read, or a change that was refused. */
type Look = ReadRecord | ChangeRecord;
type Operation = Write | Look;
type Pets = ReadonlyMap<number, WirePet>;

/**
 * Tries the orders of the writes that overlap; those of one lane are in its order. A look that may come next, and is
 * explained by what is there, comes next: it changes nothing, so that any other order that explains the rest has a
 * place for it here too.
 */
class Search {
  readonly #lanes: readonly (readonly Write[])[];
  readonly #looks: ReadonlyMap<Look, number>;
  readonly #tried = new Set<string>();
  /** The fewest operations without a place. */
  #rest: readonly Operation[] | undefined;

  constructor(lanes: readonly (readonly Write[])[], looks: readonly Look[]) {
    this.#lanes = lanes;
    this.#looks = new Map(looks.map((look, index) => [look, index]));
  }

  /** Returns undefined, or the operation that had to be next where the search came furthest. */
  run(): Operation | undefined {
    const places = this.#lanes.map(() => 0);
    if (this.#isExplained(places, new Map(), [...this.#looks.keys()])) return undefined;
    return this.#rest?.toSorted((one, other) => one.endMs - other.endMs).find(isRequired);
  }

  /** Whether some order explains what follows after so many writes of each lane, which have left these animals. */
  #isExplained(places: readonly number[], pets: Pets, looks: readonly Look[]): boolean {
    const writes = this.#lanes.flatMap((lane, index) => lane.slice(places[index]));
    const writesEndMs = firstEndMs(writes);
    let left = looks;
    let before: typeof left;
    let endMs: number;
    do {
      before = left;
      endMs = Math.min(writesEndMs, firstEndMs(left));
      left = before.filter((look) => look.startMs > endMs || !isLookExplained(look, pets));
    } while (left.length < before.length);
    if (left.length === 0 && !writes.some(isRequired)) return true;
    const place = `${places.join()} ${left.map((look) => this.#looks.get(look)).join()}`;
    if (this.#tried.has(place)) return false;
    this.#tried.add(place);
    const rest = [...writes, ...left];
    if (rest.length < (this.#rest?.length ?? Number.POSITIVE_INFINITY)) this.#rest = rest;
    const next = this.#lanes
      .flatMap((lane, index) => {
        const write = lane[places[index] ?? 0];
        return write !== undefined && write.startMs <= endMs ? [{ write, index }] : [];
      })
      .toSorted((one, other) => one.write.endMs - other.write.endMs);
    return next.some(({ write, index }) => {
      const after = petsAfter(write, pets);
      const moved = places.with(index, (places[index] ?? 0) + 1);
      return after !== undefined && this.#isExplained(moved, after, left);
    });
  }
}

function firstEndMs(operations: readonly Operation[]): number {
  return operations.reduce((first, { endMs }) => Math.min(first, endMs), Number.POSITIVE_INFINITY);
}

/** A change whose outcome is unknown may not have happened. */
function isRequired(operation: Operation): boolean {
  return !('outcome' in operation) || operation.outcome !== 'unknown';
}

/** Undefined if the write cannot have happened there. */
function petsAfter(write: Write, pets: Pets): Pets | undefined {
  const after = new Map(pets);
  if ('pet' in write) return after.set(write.pet.id, write.pet);
  if ('outcome' in write) {
    const { from, to } = write;
    const found = pets.get(from.id);
    if (found === undefined || !isSamePet(found, from)) return undefined;
    if (to === undefined) after.delete(from.id);
    else after.set(to.id, to);
    return after;
  }
  const { ids, status } = write;
  // The command has succeeded, so all its animals were there.
  if (!ids.every((id) => pets.has(id))) return undefined;
  for (const id of ids) {
    const pet = pets.get(id);
    if (status === undefined) after.delete(id);
    else if (pet !== undefined) after.set(id, { ...pet, status });
  }
  return after;
}

/** The creates that have happened, in the order of their ids: those with a response, and those that a read saw. */
function findCommits(
  creates: readonly CreateRecord[],
  reads: readonly ReadRecord[],
  violations: string[],
): Commit[] {
  const byName = new Map(creates.map((create) => [create.name, create]));
  for (const { name, status, pet } of creates) {
    if (pet !== undefined && (pet.name !== name || pet.status !== status)) {
      violations.push(`the create of ${name} (${status}) returned ${JSON.stringify(pet)}`);
    }
  }
  const seen = [
    ...creates.flatMap(({ pet }) => (pet === undefined ? [] : [pet])),
    ...reads.flatMap(({ observed }) => petsOf(observed)),
  ];
  const commits = new Map<number, Commit>();
  const idOfName = new Map<string, number>();
  for (const pet of seen) {
    const create = byName.get(pet.name);
    const known = commits.get(pet.id);
    const otherId = idOfName.get(pet.name);
    if (create === undefined) {
      violations.push(`nobody created ${JSON.stringify(pet)}`);
    } else if (known !== undefined && known.pet.name !== pet.name) {
      violations.push(`${known.pet.name} and ${pet.name} have the id ${pet.id}`);
    } else if (otherId !== undefined && otherId !== pet.id) {
      violations.push(`${pet.name} has the ids ${otherId} and ${pet.id}`);
    } else {
      const { status, startMs, endMs } = create;
      idOfName.set(pet.name, pet.id);
      commits.set(pet.id, {
        pet: { ...pet, categoryId: CREATED_CATEGORY, status },
        startMs,
        endMs,
      });
    }
  }
  return [...commits.values()].toSorted((one, other) => one.pet.id - other.pet.id);
}

/** Of every animal that is created. Only changes give another one. */
export const CREATED_CATEGORY = 1;

function petsOf(observed: Observation): readonly WirePet[] {
  if (observed.kind === 'list') return observed.pets;
  return observed.pet === undefined ? [] : [observed.pet];
}

function isLookExplained(look: Look, pets: Pets): boolean {
  if ('observed' in look) return isExplained(look.observed, pets);
  const { from, to, outcome } = look;
  const found = pets.get(from.id);
  if (found === undefined || outcome === 'gone') return found === undefined && outcome === 'gone';
  return ![from, to].some((pet) => pet !== undefined && isSamePet(found, pet));
}

function isExplained(observed: Observation, pets: Pets): boolean {
  if (observed.kind === 'get') {
    const found = pets.get(observed.id);
    return isSame(petsOf(observed), found === undefined ? [] : [found]);
  }
  const { afterId, status, limit } = observed;
  // Creates are in the order of their ids, and so are these.
  const matching = [...pets.values()].filter(
    (pet) => pet.id > afterId && (status === undefined || pet.status === status),
  );
  return (
    observed.hasNext === matching.length > limit && isSame(observed.pets, matching.slice(0, limit))
  );
}

function isSame(one: readonly WirePet[], other: readonly WirePet[]): boolean {
  return (
    one.length === other.length &&
    one.every((pet, index) => {
      const second = other[index];
      return second !== undefined && isSamePet(pet, second);
    })
  );
}

function isSamePet(one: WirePet, other: WirePet): boolean {
  return (
    one.id === other.id &&
    one.name === other.name &&
    one.categoryId === other.categoryId &&
    one.status === other.status
  );
}

const shown = ({ id, name, categoryId, status }: WirePet) =>
  `${name} (${id}, ${categoryId}, ${status})`;

function describe(operation: Operation): string {
  if ('pet' in operation) return `the create of ${operation.pet.name} (${operation.pet.id})`;
  if ('ids' in operation) return `the command on ${operation.ids.join(', ')}`;
  if ('outcome' in operation) {
    const { from, to, outcome } = operation;
    const wanted = to === undefined ? 'a removal' : `a change to ${shown(to)}`;
    return `${wanted} of ${shown(from)}: ${outcome}`;
  }
  const pets = petsOf(operation.observed).map(shown);
  return `${operation.request}, which returned ${pets.join(', ') || 'no animal'}`;
}
