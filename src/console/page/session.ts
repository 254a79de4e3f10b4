import { PetStore, type Pets } from '../../../sdk/src/index.ts';

const STORAGE_NAME = 'petstore.key';
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
    write(key);
  }

  close(): void {
    this.#pets = undefined;
    write(undefined);
  }
}

/** The key that this tab has stored; undefined if there is none or the browser forbids storage. */
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
    // Without storage, the key is kept until the page is reloaded.
  }
}

/** Enough of the key to recognise it, and too little to use it. */
export function keyHint(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-4)}`;
}
