import { LIMIT_MAX } from '../src/domain/page.ts';
import { Client, type Exchange } from './client.ts';
import type { Credential } from './credentials.ts';
import { faultOfPet, type SeenPet } from './shapes.ts';
import { NotCheckable } from './verdict.ts';

export interface Subject {
  /** The base address, without a slash at its end. */
  base: string;
  key: string;
  mayWrite: boolean;
  now: Date;
  /** Tells the animals of this run from those of any other. */
  run: string;
  /** A category that no animal has: it marks animals that must not be stored. */
  unwantedCategoryId: bigint;
}

export const EMPTY_CATALOGUE = 'the catalogue shows no animals to tell by; --write adds some';
const DEFAULT_CATEGORY_ID = 1n;

/** The service at one address: the three operations, and what this run knows of its catalogue. */
export class ServiceUnderCheck {
  readonly subject: Subject;
  readonly client: Client;
  /** What was answered with 201, in the order of creation. */
  readonly created: SeenPet[] = [];
  #keyIsRefused = false;
  #categoryId: bigint | undefined;

  constructor(subject: Subject) {
    this.subject = subject;
    this.client = new Client(subject.base, subject.key);
  }

  /** Asks whether the key opens the door; a service that cannot be reached throws NoAnswer. */
  async knock(): Promise<Exchange> {
    const exchange = await this.client.send({
      operation: 'listPets',
      path: '/pets?limit=1',
      credential: 'key',
    });
    this.#keyIsRefused = exchange.status === 401;
    return exchange;
  }

  list(query: string, credential: Credential = 'key'): Promise<Exchange> {
    return this.#ask(credential, () =>
      this.client.send({ operation: 'listPets', path: `/pets${query}`, credential }),
    );
  }

  get(id: bigint, credential: Credential = 'key'): Promise<Exchange> {
    return this.#ask(credential, () =>
      this.client.send({ operation: 'getPet', path: `/pets/${id}`, credential }),
    );
  }

  async create(body: string, credential: Credential = 'key'): Promise<Exchange> {
    // The runner asks for none without leave; this keeps a clause that forgot to say so from writing.
    if (!this.subject.mayWrite) throw new NotCheckable('it needs --write');
    const exchange = await this.#ask(credential, () =>
      this.client.send({ operation: 'createPet', path: '/pets', credential, body }),
    );
    if (exchange.status === 201 && faultOfPet(exchange.body) === undefined) {
      this.created.push(exchange.body as SeenPet);
    }
    return exchange;
  }

  /**
   * As many animals as one request can show, for clauses about something else than the list: where the
   * list is broken its own clauses say so, and the others cannot be told.
   */
  async catalogue(filter = ''): Promise<SeenPet[]> {
    const { status, body } = await this.list(`?limit=${LIMIT_MAX}${filter}`);
    const isRight = status === 200 && Array.isArray(body);
    if (isRight && body.every((pet) => faultOfPet(pet) === undefined)) return body as SeenPet[];
    throw new NotCheckable('it needs the list of animals, which is broken: see listPets.200');
  }

  /** The animals that can be seen, at least as many as a clause needs to tell anything. */
  async catalogueOf(countMin: number): Promise<SeenPet[]> {
    const pets = await this.catalogue();
    if (pets.length === 0) throw new NotCheckable(EMPTY_CATALOGUE);
    if (pets.length < countMin) {
      throw new NotCheckable(
        `the catalogue shows ${pets.length} animals and ${countMin} are needed to tell`,
      );
    }
    return pets;
  }

  nameOf(what: string): string {
    return `petstore check ${this.subject.run} ${what}`;
  }

  /** A category that the service is known to accept, where there is an animal to learn it from. */
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

  async #ask(credential: Credential, send: () => Promise<Exchange>): Promise<Exchange> {
    if (credential !== 'key') return refuseThrottled(await send());
    if (this.#keyIsRefused) throw new NotCheckable('the service refuses the key');
    const exchange = refuseThrottled(await send());
    // How keys are scoped is not shown in the specification, so a narrow key is no fault.
    if (exchange.status === 403) throw new NotCheckable('the key may not do this (403)');
    return exchange;
  }
}

/** Throttling is not shown in the specification, so it is no fault either. */
function refuseThrottled(exchange: Exchange): Exchange {
  if (exchange.status === 429) throw new NotCheckable('the service throttles the check (429)');
  return exchange;
}

/** The text of a NewPet, every digit as it is. */
export function newPetText(pet: { name: string; categoryId: bigint; status?: string }): string {
  const status = pet.status === undefined ? '' : `,"status":${JSON.stringify(pet.status)}`;
  return `{"name":${JSON.stringify(pet.name)},"categoryId":${pet.categoryId}${status}}`;
}
