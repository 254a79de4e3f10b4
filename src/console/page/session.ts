import { PetStore, type Pets } from '../../../sdk/src/index.ts';

const STORAGE_NAME = 'petstore.key';
/** A person waits in front of this page: short outages are bridged, longer ones are told. */
const PATIENCE = { timeoutMs: 8_000, totalTimeoutMs: 10_000, retries: 2 };

/** Where the interface is, relative to the page, so that a path prefix in front of both does no harm. */
export const BASE_URL = new URL('v1', document.baseURI).href;

/** The key and the client that uses it. The key lives as long as the tab, and is in no address. */
export class Session {
  #pets: Pets | undefined;

  get isOpen(): boolean {
    return this.#pets !== undefined;
  }

  get pets(): Pets {
    if (this.#pets === undefined) throw new Error('Paste an API key first.');
    return this.#pets;
  }

  /** Throws a TypeError for what cannot be a key. */
  open(key: string): void {
    this.#pets = new PetStore({
      baseUrl: BASE_URL,
      apiKey: key,
      // The page says itself what is deprecated, so the library need not.
      warn: () => undefined,
      ...PATIENCE,
    }).pets;
    write(key);
  }

  close(): void {
    this.#pets = undefined;
    write(undefined);
  }
}

/** The key of this tab from before it was loaded again. A browser may forbid storage: then there is none. */
export function storedKey(): string | undefined {
  try {
    return sessionStorage.getItem(STORAGE_NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(key: string | undefined): void {
  try {
    if (key === undefined) sessionStorage.removeItem(STORAGE_NAME);
    else sessionStorage.setItem(STORAGE_NAME, key);
  } catch {
    // Without storage the key lasts until the page is loaded again.
  }
}

/** Enough of the key to tell it from another, and too little to use it. */
export function keyHint(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-4)}`;
}
