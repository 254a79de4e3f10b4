import type { Store } from '../domain/store.ts';
import type { Representation } from './conditional.ts';

/** Longer keys are not cached; ordinary targets are far shorter. */
const KEY_LENGTH_MAX = 256;
/** How many requested keys are remembered; beyond it they are all forgotten. */
const REQUESTED_KEYS_MAX = 10_000;
/** Characters of cached responses; beyond it the cache is emptied. */
const CACHED_LENGTH_MAX = 4 * 1024 * 1024;
/** What a response takes beside its body, roughly. */
const HEAD_LENGTH = 1_000;

/**
 * Caches encoded responses while nothing is committed. The version of the store changes with every commit
 * of any process, so a cached response is exact.
 *
 * A page requested only once is not cached: a walk through the catalogue requests every page once, and would
 * fill the memory with pages that nobody requests again.
 */
export class ResponseCache {
  readonly #store: Pick<Store, 'version'>;
  readonly #responses = new Map<string, Representation>();
  readonly #requested = new Set<string>();
  #version: number | undefined;
  #look: Promise<number | undefined> | undefined;
  #length = 0;

  constructor(store: Pick<Store, 'version'>) {
    this.#store = store;
  }

  async get(key: string, make: () => Promise<Representation>): Promise<Representation> {
    const version = await this.#currentVersion();
    if (version === undefined) return make();
    if (version !== this.#version) this.#clear(version);
    if (key.length > KEY_LENGTH_MAX) return make();
    const cached = this.#responses.get(key);
    if (cached !== undefined) return cached;

    const isRequestedAgain = this.#noteRequested(key);
    const made = await make();
    // What was read after the version is at least as new as that version.
    if (isRequestedAgain && version === this.#version) this.#add(key, made);
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

  #noteRequested(key: string): boolean {
    if (this.#requested.has(key)) return true;
    if (this.#requested.size >= REQUESTED_KEYS_MAX) this.#requested.clear();
    this.#requested.add(key);
    return false;
  }

  #add(key: string, made: Representation): void {
    if (this.#length > CACHED_LENGTH_MAX) this.#clear(this.#version);
    this.#responses.set(key, made);
    this.#length += made.response.body.length + HEAD_LENGTH;
  }

  #clear(version: number | undefined): void {
    this.#responses.clear();
    this.#length = 0;
    this.#version = version;
  }
}
