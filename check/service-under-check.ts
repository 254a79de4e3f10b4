import { writeNewPet } from '../sdk/src/json.ts';
import type { NewPet } from '../sdk/src/types.ts';
import { Client, type Exchange } from './client.ts';
import type { Credential } from './credentials.ts';
import { findPetFault, type SeenPet } from './shapes.ts';
import { LIMIT_MAX } from './specification.ts';
import { NotCheckable } from './verdict.ts';

export interface Subject {
  /** The base address, without a slash at its end. */
  base: string;
  key: string;
  mayWrite: boolean;
  now: Date;
  /** Part of the names of the animals that this run adds, so that no other run adds the same. */
  run: string;
  /** A category that no animal has: it identifies animals that must not be stored. */
  unwantedCategoryId: bigint;
}

export const EMPTY_CATALOGUE = 'the catalogue shows no animals to judge by; --write adds some';
const DEFAULT_CATEGORY_ID = 1n;

/** The service at one address: its three operations, and the animals that this run has seen. */
export class ServiceUnderCheck {
  readonly subject: Subject;
  readonly client: Client;
  /** The animals of all 201 responses, in the order of creation. */
  readonly created: SeenPet[] = [];
  #keyIsRefused = false;
  #categoryId: bigint | undefined;

  constructor(subject: Subject) {
    this.subject = subject;
    this.client = new Client(subject.base, subject.key);
  }

  /** Finds out whether the service accepts the key. Throws NoResponse if it cannot be reached. */
  async probe(): Promise<Exchange> {
    const exchange = await this.client.send({
      operation: 'listPets',
      path: '/pets?limit=1',
      credential: 'key',
    });
    this.#keyIsRefused = exchange.status === 401;
    return exchange;
  }

  list(query: string, credential: Credential = 'key'): Promise<Exchange> {
    return this.#sendWith(credential, () =>
      this.client.send({ operation: 'listPets', path: `/pets${query}`, credential }),
    );
  }

  get(id: bigint, credential: Credential = 'key'): Promise<Exchange> {
    return this.#sendWith(credential, () =>
      this.client.send({ operation: 'getPet', path: `/pets/${id}`, credential }),
    );
  }

  async create(body: string, credential: Credential = 'key'): Promise<Exchange> {
    // The runner skips writing clauses; this stops a clause that was not marked as writing.
    if (!this.subject.mayWrite) throw new NotCheckable('it needs --write');
    const exchange = await this.#sendWith(credential, () =>
      this.client.send({ operation: 'createPet', path: '/pets', credential, body }),
    );
    if (exchange.status === 201 && findPetFault(exchange.body) === undefined) {
      this.created.push(exchange.body as SeenPet);
    }
    return exchange;
  }

  /**
   * Returns the animals of one list, for clauses that are not about the list. If the list is broken, its own
   * clauses report that, and the others cannot be judged.
   */
  async catalogue(filter = ''): Promise<SeenPet[]> {
    const { status, body } = await this.list(`?limit=${LIMIT_MAX}${filter}`);
    const isRight = status === 200 && Array.isArray(body);
    if (isRight && body.every((pet) => findPetFault(pet) === undefined)) return body as SeenPet[];
    throw new NotCheckable('it needs the list of animals, which is broken: see listPets.200');
  }

  /** Returns the animals of one list. Throws NotCheckable if they are fewer than a clause needs. */
  async catalogueOf(countMin: number): Promise<SeenPet[]> {
    const pets = await this.catalogue();
    if (pets.length === 0) throw new NotCheckable(EMPTY_CATALOGUE);
    if (pets.length < countMin) {
      throw new NotCheckable(
        `the catalogue shows ${pets.length} animals, and ${countMin} are needed`,
      );
    }
    return pets;
  }

  nameOf(what: string): string {
    return `petstore-check ${this.subject.run} ${what}`;
  }

  /** Returns the category of an existing animal, because the service accepts that one, or a default. */
  async categoryId(): Promise<bigint> {
    this.#categoryId ??= (await this.anyAnimal())?.categoryId ?? DEFAULT_CATEGORY_ID;
    return this.#categoryId;
  }

  async anyAnimal(): Promise<SeenPet | undefined> {
    try {
      return (await this.catalogue())[0];
    } catch (error) {
      if (error instanceof NotCheckable) return this.created[0];
      throw error;
    }
  }

  async #sendWith(credential: Credential, send: () => Promise<Exchange>): Promise<Exchange> {
    if (credential !== 'key') return refuseThrottled(await send());
    if (this.#keyIsRefused) throw new NotCheckable('the service refuses the key');
    const exchange = refuseThrottled(await send());
    // The specification says nothing about scopes, so a key without this permission is not a fault.
    if (exchange.status === 403) throw new NotCheckable('the key may not do this (403)');
    return exchange;
  }
}

/** The specification says nothing about throttling, so it is not a fault. */
function refuseThrottled(exchange: Exchange): Exchange {
  if (exchange.status === 429) throw new NotCheckable('the service throttles the check (429)');
  return exchange;
}

/** A NewPet as exact JSON; its status may be one that a service must refuse. */
export function newPetText(pet: { name: string; categoryId: bigint; status?: string }): string {
  return writeNewPet(pet as NewPet);
}
