import type { Representation } from './conditional.ts';
import type { Later } from './later.ts';

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
export class PageCache {
  readonly #version: () => number | undefined;
  readonly #kept = new Map<string, Representation>();
  readonly #asked = new Set<string>();
  #keptVersion: number | undefined;
  #askedInTurn: number | undefined;
  #keptLength = 0;

  constructor(version: () => number | undefined) {
    this.#version = version;
  }

  get(
    key: string,
    turn: number | undefined,
    make: () => Promise<Representation>,
  ): Later<Representation> {
    const version = this.#currentVersion(turn);
    if (version === undefined) return make();
    if (version !== this.#keptVersion) this.#forget(version);
    if (key.length > KEY_LENGTH_MAX) return make();
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;

    const isAskedAgain = this.#noteAsked(key);
    return make().then((made) => {
      // What was read after the version was asked for is at least as new as that version.
      if (isAskedAgain && version === this.#keptVersion) this.#keep(key, made);
      return made;
    });
  }

  /** Asks the store, or goes by what it said to another request of the same turn. */
  #currentVersion(turn: number | undefined): number | undefined {
    if (turn !== undefined && turn === this.#askedInTurn) return this.#keptVersion;
    this.#askedInTurn = turn;
    return this.#version();
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
