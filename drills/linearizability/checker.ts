// Checks a history of creates and reads against the simplest model of the catalogue: a list that only grows.
// It knows nothing of the service.

/** An animal as it is on the wire. Ids are numbers: a drill stores far fewer than 2^53 animals. */
export interface SeenPet {
  id: number;
  name: string;
  categoryId: number;
  status: string;
}

/** A create, from just before it was first sent until just after its response was received. */
export interface CreateRecord {
  name: string;
  status: string;
  startMs: number;
  /** Infinity if the response was lost: the animal may be stored at any later moment, or never. */
  endMs: number;
  /** Of the response. */
  pet: SeenPet | undefined;
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
      pets: readonly SeenPet[];
      hasNext: boolean;
    }
  | { kind: 'get'; id: number; pet: SeenPet | undefined };

export interface History {
  creates: readonly CreateRecord[];
  reads: readonly ReadRecord[];
}

/** A create that is known to have happened. */
interface Commit {
  pet: SeenPet;
  startMs: number;
  endMs: number;
}

/**
 * Returns one sentence per violation. A history without any can be explained by one moment for each operation,
 * between its start and its end: the creates are committed in the order of their ids, and each read returns
 * what is there at its moment.
 *
 * The ids fix the order of the commits, so the check is exact and needs no search: each operation takes the
 * earliest moment that its start and the operations before it allow, and that must not be after its end.
 */
export function findViolations({ creates, reads }: History): string[] {
  const violations: string[] = [];
  const commits = findCommits(creates, reads, violations);
  const pets = commits.map(({ pet }) => pet);
  const explained = reads.flatMap((read) => {
    const states = pets.length + 1;
    const first = Array.from({ length: states }, (_, count) => count).find((count) =>
      isExplained(read.observed, pets.slice(0, count)),
    );
    if (first === undefined) {
      violations.push(`no moment explains ${read.request}, which returned ${describe(read)}`);
      return [];
    }
    // A longer list only adds to a response, so the states that explain it are neighbours.
    let last = first;
    while (last < pets.length && isExplained(read.observed, pets.slice(0, last + 1))) last += 1;
    return [{ read, first, last }];
  });

  let earliestMs = Number.NEGATIVE_INFINITY;
  const momentsMs = [earliestMs];
  for (let count = 0; count <= commits.length; count += 1) {
    // The reads that see exactly the first `count` commits at the latest come before the next commit.
    for (const { read, first, last } of explained) {
      if (last !== count) continue;
      const momentMs = Math.max(read.startMs, momentsMs[first] ?? 0);
      if (momentMs > read.endMs) {
        violations.push(`${read.request} saw ${describe(read)} before it can have been stored`);
      } else earliestMs = Math.max(earliestMs, momentMs);
    }
    const next = commits[count];
    if (next === undefined) break;
    earliestMs = Math.max(earliestMs, next.startMs);
    if (earliestMs > next.endMs) {
      violations.push(
        `${next.pet.name} (${next.pet.id}) was acknowledged, but a later operation did not see it, or a lower id came after it`,
      );
      earliestMs = next.endMs;
    }
    momentsMs.push(earliestMs);
  }
  return violations;
}

/** The creates that have happened, in the order of their ids: those with a response, and those that a read saw. */
function findCommits(
  creates: readonly CreateRecord[],
  reads: readonly ReadRecord[],
  violations: string[],
): Commit[] {
  const byName = new Map(creates.map((create) => [create.name, create]));
  for (const { name, pet } of creates) {
    if (pet !== undefined && pet.name !== name) {
      violations.push(`the create of ${name} returned ${pet.name}`);
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
    if (create === undefined || create.status !== pet.status) {
      violations.push(`nobody created ${JSON.stringify(pet)}`);
    } else if (known !== undefined && known.pet.name !== pet.name) {
      violations.push(`${known.pet.name} and ${pet.name} have the id ${pet.id}`);
    } else if (otherId !== undefined && otherId !== pet.id) {
      violations.push(`${pet.name} has the ids ${otherId} and ${pet.id}`);
    } else {
      idOfName.set(pet.name, pet.id);
      commits.set(pet.id, { pet, startMs: create.startMs, endMs: create.endMs });
    }
  }
  return [...commits.values()].toSorted((left, right) => left.pet.id - right.pet.id);
}

function petsOf(observed: Observation): readonly SeenPet[] {
  if (observed.kind === 'list') return observed.pets;
  return observed.pet === undefined ? [] : [observed.pet];
}

function isExplained(observed: Observation, pets: readonly SeenPet[]): boolean {
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

function isSame(left: readonly SeenPet[], right: readonly SeenPet[]): boolean {
  return (
    left.length === right.length &&
    left.every((pet, index) => {
      const other = right[index];
      return pet.id === other?.id && pet.name === other.name && pet.status === other.status;
    })
  );
}

function describe({ observed }: ReadRecord): string {
  const pets = petsOf(observed);
  if (pets.length === 0) return 'no animal';
  return pets.map(({ id, name }) => `${name} (${id})`).join(', ');
}
