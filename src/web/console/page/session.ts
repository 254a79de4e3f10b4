import { PetStore, type NewPet, type Pet, type Pets } from '../../../../sdk/src/index.ts';
import { readPet, writeNewPet } from '../../../../sdk/src/json.ts';
import { send } from '../../../../sdk/src/request.ts';
import type { Call, Connection, Read } from '../../../../sdk/src/types.ts';
import type { Creation } from './bulk.ts';
import { storeKey } from './stored-key.ts';

/** A person is waiting: retry through short outages, and report longer ones soon. */
const PATIENCE = { timeoutMs: 8_000, totalTimeoutMs: 10_000, retries: 2, backoffMs: 200 };

/** Relative to the page, so that it also works behind a proxy that adds a path prefix. */
export const BASE_URL = new URL('v1', document.baseURI).href;
/** The console's own requests. */
const CONSOLE_URL = new URL('console', document.baseURI).href;

/** What the key may do, as the service says. */
export interface Access {
  mayRead: boolean;
  mayAdd: boolean;
  /** It may change and remove animals, and the store lets it. */
  mayChange: boolean;
  /** It has the scope for changes. */
  hasManageScope: boolean;
}

const NOTHING: Access = { mayRead: false, mayAdd: false, mayChange: false, hasManageScope: false };

/** The key and the client that uses it. The key is kept until the tab is closed, and is never in a URL. */
export class Session {
  #pets: Pets | undefined;
  #connection: Connection | undefined;
  #access = NOTHING;
  #secondsToHalf = 0;
  /** The creates in progress, by their Idempotency-Key as it is sent. */
  readonly #creates = new Map<string, { attempts: number; isReplay: boolean }>();

  get isOpen(): boolean {
    return this.#pets !== undefined;
  }

  get pets(): Pets {
    if (this.#pets === undefined) throw new Error('Paste an API key first.');
    return this.#pets;
  }

  get apiKey(): string {
    return this.#connection?.apiKey ?? '';
  }

  get access(): Access {
    return this.#access;
  }

  /** After how many seconds half of the requests of the key are left again; 0 if they are. */
  get secondsToHalf(): number {
    return this.#secondsToHalf;
  }

  /** Adds an animal, and says whether an earlier request had added it. */
  async create(pet: NewPet, idempotencyKey: string): Promise<Creation> {
    const create = { attempts: 0, isReplay: false };
    const header = `"${idempotencyKey}"`;
    this.#creates.set(header, create);
    try {
      const added = await this.pets.create(pet, { idempotencyKey });
      const { isReplay, attempts } = create;
      return { pet: added, isReplay, isFirstAttempt: attempts === 1 };
    } finally {
      this.#creates.delete(header);
    }
  }

  /** Asks what the key may do, and uses it from then on. Throws a TypeError if the text cannot be a key. */
  async open(apiKey: string): Promise<void> {
    const { pets } = new PetStore({
      baseUrl: BASE_URL,
      apiKey,
      fetch: (input, init) => this.#fetch(input, init),
      // The page itself shows what is deprecated.
      warn: () => undefined,
      ...PATIENCE,
    });
    this.#connection = {
      baseUrl: CONSOLE_URL,
      apiKey,
      fetch: (input, init) => fetch(input, init),
      onResponse: () => undefined,
      ...PATIENCE,
    };
    this.#access = await this.#send({ operation: 'GET /session', path: '/session' }, readAccess);
    this.#pets = pets;
    storeKey(apiKey);
  }

  /** Changes an animal that is still as the person saw it. Returns it as it is then. */
  change(seen: Pet, to: NewPet): Promise<Pet> {
    const body = `{"from":${writeNewPet(seen)},"to":${writeNewPet(to)}}`;
    return this.#post(`/pets/${seen.id}/change`, body);
  }

  /** Removes an animal that is still as the person saw it. */
  async remove(seen: Pet): Promise<void> {
    await this.#post(`/pets/${seen.id}/remove`, `{"from":${writeNewPet(seen)}}`);
  }

  #post(path: string, body: string): Promise<Pet> {
    const headers = { 'Content-Type': 'application/json' };
    return this.#send({ operation: `POST ${path}`, path, method: 'POST', headers, body }, readPet);
  }

  /** Sends one of the console's own requests. */
  #send<Result>(call: Call, read: Read<Result>): Promise<Result> {
    if (this.#connection === undefined) throw new Error('Paste an API key first.');
    return send(this.#connection, call, read);
  }

  /** Reads the header that marks a replay, which the client library does not pass on. */
  async #fetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const create = this.#creates.get(new Headers(init?.headers).get('Idempotency-Key') ?? '');
    if (create !== undefined) create.attempts += 1;
    const response = await fetch(input, init);
    if (create !== undefined) create.isReplay = response.headers.has('Idempotency-Replayed');
    this.#secondsToHalf = secondsToHalf(response.headers);
    return response;
  }

  close(): void {
    this.#pets = undefined;
    this.#connection = undefined;
    this.#access = NOTHING;
    storeKey(undefined);
  }
}

/** By `RateLimit` and `RateLimit-Policy`. Without them the requests of the key are not limited. */
function secondsToHalf(headers: Headers): number {
  const [, left, seconds] = /;r=(\d+);t=(\d+)/.exec(headers.get('RateLimit') ?? '') ?? [];
  const [, quota] = /;q=(\d+)/.exec(headers.get('RateLimit-Policy') ?? '') ?? [];
  return Number(left) <= Number(quota) / 2 ? Number(seconds) : 0;
}

/** A response without these facts is not from the service: it allows nothing. */
function readAccess(json: unknown): Access {
  const facts = Object(json) as Partial<Record<keyof Access, unknown>>;
  if (typeof facts.mayRead !== 'boolean') throw new TypeError('This is no session.');
  return {
    mayRead: facts.mayRead,
    mayAdd: facts.mayAdd === true,
    mayChange: facts.mayChange === true,
    hasManageScope: facts.hasManageScope === true,
  };
}

const IDEMPOTENCY_KEY_BYTES = 16;

/** Uses getRandomValues, because browsers do not offer randomUUID to pages loaded over plain HTTP. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(IDEMPOTENCY_KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
