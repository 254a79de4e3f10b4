import { PetStore, type Pets } from '../../../../sdk/src/index.ts';
import { storeKey } from './stored-key.ts';

/** A person is waiting: retry through short outages, and report longer ones soon. */
const PATIENCE = { timeoutMs: 8_000, totalTimeoutMs: 10_000, retries: 2 };

/** Relative to the page, so that it also works behind a proxy that adds a path prefix. */
export const BASE_URL = new URL('v1', document.baseURI).href;

/** The key and the client that uses it. The key is kept until the tab is closed, and is never in a URL. */
export class Session {
  #pets: Pets | undefined;

  get isOpen(): boolean {
    return this.#pets !== undefined;
  }

  get pets(): Pets {
    if (this.#pets === undefined) throw new Error('Paste an API key first.');
    return this.#pets;
  }

  /** Throws a TypeError if the text cannot be a key. */
  open(key: string): void {
    this.#pets = new PetStore({
      baseUrl: BASE_URL,
      apiKey: key,
      // The page itself shows what is deprecated.
      warn: () => undefined,
      ...PATIENCE,
    }).pets;
    storeKey(key);
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
