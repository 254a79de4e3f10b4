// Checks a history of creates, commands and reads against the simplest model of the catalogue. It knows nothing of
// the service.

import type { WirePet } from '../../harness/client.ts';

/** A create, from just before it was first sent until just after its response was received. */
export interface CreateRecord {
  name: string;
  status: string;
  startMs: number;
  /** Infinity if the response was lost: the animal may be stored at any later moment, or never. */
  endMs: number;
  /** Of the response. */
  pet: WirePet | undefined;
}

/** A command of `petstore catalogue` that has succeeded. Commands run one after the other. */
export interface CommandRecord {
  ids: readonly number[];
  /** Undefined if it has removed the animals. */
  status: string | undefined;
  startMs: number;
  endMs: number;
}

export interface ReadRecord {
  /** For messages, such as "GET /pets?limit=2". */
  request: string;
  startMs: number;
  endMs: number;
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
  /** In the order in which they ran. */
  commands: readonly CommandRecord[];
  reads: readonly ReadRecord[];
}

/** A create that is known to have happened. */
interface Commit {
  pet: WirePet;
  startMs: number;
  endMs: number;
}

/**
 * Returns one sentence per violation. A history without any can be explained by one order of its operations: none
 * precedes one that had ended before it started, the creates are in the order of their ids, the commands in the order
 * in which they ran, and each read returns what is there at its place.
 */
export function findViolations({ creates, commands, reads }: History): string[] {
  const violations: string[] = [];
  const commits = findCommits(creates, reads, violations);
  const blocking = new Search(commits, commands, reads).run();
  if (blocking !== undefined) {
    violations.push(`no order of the operations explains ${describe(blocking)}`);
  }
  return violations;
}

type Operation = Commit | CommandRecord | ReadRecord;

/**
 * Tries the orders of the creates and commands that overlap. A read that may come next, and is explained by what is
 * there, comes next: it changes nothing, so that any other order that explains the rest has a place for it here too.
 */
class Search {
  readonly #commits: readonly Commit[];
  readonly #commands: readonly CommandRecord[];
  readonly #reads: readonly ReadRecord[];
  readonly #tried = new Set<string>();
  /** The fewest operations without a place. */
  #rest: readonly Operation[] | undefined;

  constructor(
    commits: readonly Commit[],
    commands: readonly CommandRecord[],
    reads: readonly ReadRecord[],
  ) {
    this.#commits = commits;
    this.#commands = commands;
    this.#reads = reads;
  }

  /** Returns undefined, or the operation that had to be next where the search came furthest. */
  run(): Operation | undefined {
    if (this.#isExplained(0, 0, this.#reads)) return undefined;
    return this.#rest?.toSorted((left, right) => left.endMs - right.endMs)[0];
  }

  /** Whether some order explains what follows after so many creates and commands. */
  #isExplained(commits: number, commands: number, reads: readonly ReadRecord[]): boolean {
    const [commit, command] = [this.#commits[commits], this.#commands[commands]];
    const writes = [...this.#commits.slice(commits), ...this.#commands.slice(commands)];
    const pets = petsAfter(this.#commits.slice(0, commits), this.#commands.slice(0, commands));
    let left = reads;
    let before: typeof left;
    let firstEndMs: number;
    do {
      before = left;
      firstEndMs = Math.min(...[...writes, ...left].map(({ endMs }) => endMs));
      left = before.filter(
        ({ startMs, observed }) => startMs > firstEndMs || !isExplained(observed, pets),
      );
    } while (left.length < before.length);
    const rest = [...writes, ...left];
    if (rest.length === 0) return true;
    const place = `${commits} ${commands} ${left.map((read) => this.#reads.indexOf(read)).join()}`;
    if (this.#tried.has(place)) return false;
    this.#tried.add(place);
    if (rest.length < (this.#rest?.length ?? Number.POSITIVE_INFINITY)) this.#rest = rest;
    const isCommitNext = commit !== undefined && commit.startMs <= firstEndMs;
    if (isCommitNext && this.#isExplained(commits + 1, commands, left)) return true;
    // It has succeeded, so all its animals were there.
    const isCommandNext =
      command !== undefined &&
      command.startMs <= firstEndMs &&
      command.ids.every((id) => pets.some((pet) => pet.id === id));
    return isCommandNext && this.#isExplained(commits, commands + 1, left);
  }
}

function petsAfter(commits: readonly Commit[], commands: readonly CommandRecord[]): WirePet[] {
  const pets = new Map(commits.map(({ pet }) => [pet.id, pet]));
  for (const { ids, status } of commands) {
    for (const id of ids) {
      const pet = pets.get(id);
      if (status === undefined) pets.delete(id);
      else if (pet !== undefined) pets.set(id, { ...pet, status });
    }
  }
  return [...pets.values()];
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
      commits.set(pet.id, { pet: { ...pet, status }, startMs, endMs });
    }
  }
  return [...commits.values()].toSorted((left, right) => left.pet.id - right.pet.id);
}

function petsOf(observed: Observation): readonly WirePet[] {
  if (observed.kind === 'list') return observed.pets;
  return observed.pet === undefined ? [] : [observed.pet];
}

function isExplained(observed: Observation, pets: readonly WirePet[]): boolean {
  if (observed.kind === 'get') {
    const found = pets.find(({ id }) => id === observed.id);
    return isSame(petsOf(observed), found === undefined ? [] : [found]);
  }
  const { afterId, status, limit } = observed;
  const matching = pets.filter(
    (pet) => pet.id > afterId && (status === undefined || pet.status === status),
  );
  return (
    observed.hasNext === matching.length > limit && isSame(observed.pets, matching.slice(0, limit))
  );
}

function isSame(left: readonly WirePet[], right: readonly WirePet[]): boolean {
  return (
    left.length === right.length &&
    left.every((pet, index) => {
      const other = right[index];
      return pet.id === other?.id && pet.name === other.name && pet.status === other.status;
    })
  );
}

function describe(operation: Operation): string {
  if ('pet' in operation) return `the create of ${operation.pet.name} (${operation.pet.id})`;
  if ('ids' in operation) return `the command on ${operation.ids.join(', ')}`;
  const pets = petsOf(operation.observed).map(
    ({ id, name, status }) => `${name} (${id}, ${status})`,
  );
  return `${operation.request}, which returned ${pets.join(', ') || 'no animal'}`;
}
