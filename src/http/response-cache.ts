import type { Store } from '../domain/store.ts';
import type { Representation } from './conditional.ts';

/** A longer key is not worth remembering; the targets of honest callers are far below it. */
const KEY_LENGTH_MAX = 256;
/** How many keys are remembered as asked for; beyond it they are all forgotten. */
const ASKED_KEYS_MAX = 10_000;
/** Characters of encoded answers kept at the most; beyond it they all go at once. */
const KEPT_LENGTH_MAX = 4 * 1024 * 1024;
/** What an answer takes beside its body, about. */
const HEAD_LENGTH = 1_000;

/**
 * Keeps encoded answers for as long as nothing was committed anywhere: `version` comes from the store
 * and changes with every commit, so an answer that is found here is exact, never merely recent.
 *
 * Only what is asked for again is kept. A walk through the catalogue asks for every page once, and would
 * fill the memory with pages that nobody will come back to.
 */
export class ResponseCache {
  readonly #store: Pick<Store, 'version'>;
  readonly #kept = new Map<string, Representation>();
  readonly #asked = new Set<string>();
  #keptVersion: number | undefined;
  #look: Promise<number | undefined> | undefined;
  #keptLength = 0;

  constructor(store: Pick<Store, 'version'>) {
    this.#store = store;
  }

  async get(key: string, make: () => Promise<Representation>): Promise<Representation> {
    const version = await this.#currentVersion();
    if (version === undefined) return make();
    if (version !== this.#keptVersion) this.#forget(version);
    if (key.length > KEY_LENGTH_MAX) return make();
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;

    const isAskedAgain = this.#noteAsked(key);
    const made = await make();
    // What was read after the version is at least as new as that version.
    if (isAskedAgain && version === this.#keptVersion) this.#keep(key, made);
    return made;
  }

  /**
   * Requests that were read in the same turn of the event loop wait for its end and share one look at the
   * store, which is then later than every one of them was read.
   */
  #currentVersion(): Promise<number | undefined> {
    this.#look ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#look = undefined;
        try {
          resolve(this.#store.version());
        } catch (error) {
          reject(error);
        }
      });
    });
    return this.#look;
  }

  #noteAsked(key: string): boolean {
    if (this.#asked.has(key)) return true;
    if (this.#asked.size >= ASKED_KEYS_MAX) this.#asked.clear();
    this.#asked.add(key);
    return false;
  }

  #keep(key: string, made: Representation): void {
    if (this.#keptLength > KEPT_LENGTH_MAX) this.#forget(this.#keptVersion);
    this.#kept.set(key, made);
    this.#keptLength += made.response.body.length + HEAD_LENGTH;
  }

  #forget(version: number | undefined): void {
    this.#kept.clear();
    this.#keptLength = 0;
    this.#keptVersion = version;
  }
}
