import type { PetStatus } from '../../src/domain/pet.ts';
import type { Random } from '../../harness/random.ts';

export interface Animal {
  id: number;
  /** What a read must show now; undefined once it is removed. */
  status: PetStatus | undefined;
  /** Raised when a command on it starts and when that command has returned. */
  changes: number;
  isChanging: boolean;
}

/** What is known of one animal at one moment. */
export interface Glimpse {
  animal: Animal;
  status: PetStatus | undefined;
  changes: number;
}

/** Every animal that was created, and what the commands that have returned made of it. */
export class Animals {
  readonly all: Animal[] = [];
  readonly violations: string[] = [];
  /** Changed last: these are read most. */
  #recent: Animal[] = [];
  readonly #ids = new Set<number>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  add(created: string): void {
    const { id, status } = JSON.parse(created) as { id: number; status: PetStatus };
    if (this.#ids.has(id)) this.violations.push(`the id ${id} was given twice`);
    this.#ids.add(id);
    this.all.push({ id, status, changes: 0, isChanging: false });
  }

  /** Some animals that are there and that no command is changing. */
  choose(count: number): Animal[] {
    const free = this.all.filter(({ status, isChanging }) => status !== undefined && !isChanging);
    return Array.from({ length: count }, () =>
      free.splice(this.#random.integer(free.length), 1),
    ).flat();
  }

  /** Runs a command on the animals. What they must be is unknown until it has returned. */
  async change(
    animals: Animal[],
    status: PetStatus | undefined,
    command: () => Promise<boolean>,
  ): Promise<void> {
    for (const animal of animals) Object.assign(animal, { isChanging: true });
    const isChanged = await command();
    for (const animal of animals) {
      animal.isChanging = false;
      animal.changes += 1;
      if (isChanged) animal.status = status;
    }
    this.#recent = animals;
  }

  /** An animal whose state is known, most often one that was changed last. */
  glance(): Glimpse | undefined {
    const some = this.#random.isOneIn(2) ? this.#recent : this.all;
    const animal = some[this.#random.integer(some.length)];
    return animal === undefined || animal.isChanging ? undefined : glimpse(animal);
  }

  glanceAll(): Glimpse[] {
    return this.all.filter(({ isChanging }) => !isChanging).map(glimpse);
  }
}

function glimpse(animal: Animal): Glimpse {
  return { animal, status: animal.status, changes: animal.changes };
}

/** Whether nothing has changed the animal since, so that a read in between must have shown it like this. */
export function isStillTrue({ animal, changes }: Glimpse): boolean {
  return !animal.isChanging && animal.changes === changes;
}

/** Whether a list with this filter holds it. */
export function isListed({ status }: Glimpse, filter: PetStatus | undefined): boolean {
  return status !== undefined && (filter === undefined || status === filter);
}
