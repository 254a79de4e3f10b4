import type { Representation } from './conditional.ts';

/** Characters of encoded pages kept at the most; the oldest answers go first, all at once. */
const KEPT_LENGTH_MAX = 16 * 1024 * 1024;

/**
 * Keeps encoded answers for as long as nothing was committed anywhere: `version` comes from the store
 * and changes with every commit, so an answer that is found here is exact, never merely recent.
 */
export class PageCache {
  readonly #version: () => number | undefined;
  readonly #kept = new Map<string, Representation>();
  #keptVersion: number | undefined;
  #keptLength = 0;

  constructor(version: () => number | undefined) {
    this.#version = version;
  }

  async get(key: string, make: () => Promise<Representation>): Promise<Representation> {
    const version = this.#version();
    if (version === undefined) return make();
    if (version !== this.#keptVersion) this.#forget(version);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;

    const made = await make();
    // What was read after the version was asked for is at least as new as that version.
    if (version === this.#keptVersion) this.#keep(key, made);
    return made;
  }

  #keep(key: string, made: Representation): void {
    if (this.#keptLength > KEPT_LENGTH_MAX) this.#forget(this.#keptVersion);
    this.#kept.set(key, made);
    this.#keptLength += made.response.body.length;
  }

  #forget(version: number | undefined): void {
    this.#kept.clear();
    this.#keptLength = 0;
    this.#keptVersion = version;
  }
}
