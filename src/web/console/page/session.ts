import { PetStore, type NewPet, type Pets } from '../../../../sdk/src/index.ts';
import type { Creation } from './bulk.ts';
import { storeKey } from './stored-key.ts';

/** A person is waiting: retry through short outages, and report longer ones soon. */
const PATIENCE = { timeoutMs: 8_000, totalTimeoutMs: 10_000, retries: 2 };

/** Relative to the page, so that it also works behind a proxy that adds a path prefix. */
export const BASE_URL = new URL('v1', document.baseURI).href;

/** The key and the client that uses it. The key is kept until the tab is closed, and is never in a URL. */
export class Session {
  #pets: Pets | undefined;
  #apiKey = '';
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
    return this.#apiKey;
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

  /** Throws a TypeError if the text cannot be a key. */
  open(key: string): void {
    this.#pets = new PetStore({
      baseUrl: BASE_URL,
      apiKey: key,
      fetch: (input, init) => this.#fetch(input, init),
      // The page itself shows what is deprecated.
      warn: () => undefined,
      ...PATIENCE,
    }).pets;
    this.#apiKey = key;
    storeKey(key);
  }

  /** Reads the header that marks a replay, which the client library does not pass on. */
  async #fetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const create = this.#creates.get(new Headers(init?.headers).get('Idempotency-Key') ?? '');
    if (create !== undefined) create.attempts += 1;
    const response = await fetch(input, init);
    if (create !== undefined) create.isReplay = response.headers.has('Idempotency-Replayed');
    return response;
  }

  close(): void {
    this.#pets = undefined;
    storeKey(undefined);
  }
}

const IDEMPOTENCY_KEY_BYTES = 16;

/** Uses getRandomValues, because browsers do not offer randomUUID to pages loaded over plain HTTP. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(IDEMPOTENCY_KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
