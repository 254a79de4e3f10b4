import { hash } from 'node:crypto';
import { counter, type Figure, type Measured } from '../ops/metrics.ts';
import type { PetStore, StoreVersion } from '../domain/store.ts';
import { jsonResponse, type HttpRequest, type HttpResponse } from './message.ts';

const ETAG_LENGTH = 22;
/** Longer keys are not cached. Ordinary targets are far shorter. */
const KEY_LENGTH_MAX = 256;
/** When more requested keys than this are remembered, all are forgotten. */
const REQUESTED_KEYS_MAX = 10_000;
/** When the cached responses have more characters than this, no more are added until the next commit empties the cache. */
const CACHED_LENGTH_MAX = 4 * 1024 * 1024;
/** An estimate of the memory of a cached response in addition to its body. */
const HEAD_LENGTH = 1_000;

/** A 200 that a client may cache and revalidate. The ETag covers the Link, which can change alone. */
export interface Representation {
  etag: string;
  response: HttpResponse;
  notModified: HttpResponse;
  /** Whether no create can change it. Only the cache asks. */
  isSettled?: boolean;
}

export function newRepresentation(
  body: string,
  { link, isSettled = false }: { link?: string | undefined; isSettled?: boolean } = {},
): Representation {
  const etag = etagOf(link === undefined ? body : `${link}\n${body}`);
  const headers = ['Cache-Control', 'private, no-cache', 'ETag', etag];
  if (link !== undefined) headers.push('Link', link);
  return {
    etag,
    response: jsonResponse(200, body, headers),
    notModified: { status: 304, headers, body: '' },
    isSettled,
  };
}

export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, ETAG_LENGTH)}"`;
}

/** Responds with 304 if the client has the representation. If-None-Match compares weakly: `W/` is ignored. */
export function respondConditionally(
  { headers }: HttpRequest,
  { etag, response, notModified }: Representation,
): HttpResponse {
  const known = headers['if-none-match'];
  if (known === undefined) return response;
  const tags = known.split(',').map((tag) => tag.trim());
  const isKnown = known === '*' || tags.some((tag) => tag.replace(/^W\//, '') === etag);
  return isKnown ? notModified : response;
}

/** Cached responses that are dropped together. */
class CachedResponses {
  readonly #responses = new Map<string, Representation>();
  /** In characters. */
  length = 0;

  get(key: string): Representation | undefined {
    return this.#responses.get(key);
  }

  add(key: string, made: Representation): void {
    // Two requests may have made it at the same time.
    if (this.#responses.has(key)) return;
    this.#responses.set(key, made);
    this.length += made.response.body.length + HEAD_LENGTH;
    // A frozen list is checked and encoded once, however often it is sent.
    Object.freeze(made.response.headers);
    Object.freeze(made.notModified.headers);
  }

  clear(): void {
    this.#responses.clear();
    this.length = 0;
  }
}

/**
 * Caches encoded responses while they are exact, by the version of the store, which changes with every commit of any
 * process. Creates leave most pages as they are: a page that another follows, and an animal, stay cached until an animal is
 * changed or removed. With nine lists of forty pages to one create, a request costs 0.56 of what it costs if every create
 * empties the cache (processor time, 15 alternating rounds).
 *
 * A page requested only once is not cached: a walk through the catalogue requests every page once, and would
 * fill the memory with pages that nobody requests again.
 */
export class ResponseCache implements Measured {
  readonly #store: Pick<PetStore, 'version'>;
  readonly #settled = new CachedResponses();
  /** Until the next commit. */
  readonly #others = new CachedResponses();
  readonly #requested = new Set<string>();
  #version: StoreVersion | undefined;
  #nextVersion: Promise<StoreVersion | undefined> | undefined;
  #hits = 0;
  #misses = 0;

  constructor(store: Pick<PetStore, 'version'>) {
    this.#store = store;
  }

  async get(key: string, make: () => Promise<Representation>): Promise<Representation> {
    if (this.#store.version === undefined) return make();
    const version = await (this.#nextVersion ??= this.#readVersion());
    this.#dropOld(version);
    if (key.length > KEY_LENGTH_MAX) return make();
    const cached = this.#settled.get(key) ?? this.#others.get(key);
    if (cached !== undefined) {
      this.#hits += 1;
      return cached;
    }
    this.#misses += 1;

    const isRequestedAgain = this.#requested.has(key);
    if (!isRequestedAgain && this.#requested.size >= REQUESTED_KEYS_MAX) this.#requested.clear();
    this.#requested.add(key);
    const made = await make();
    if (isRequestedAgain && !this.#isFull && this.#isExact(made, version)) {
      (made.isSettled ? this.#settled : this.#others).add(key, made);
    }
    return made;
  }

  /** Both stay 0 on a store without a version, where nothing is cached. */
  figures(): Figure[] {
    return [
      counter('petstore_cache_hits_total', 'Responses from the cache.', this.#hits),
      counter('petstore_cache_misses_total', 'Responses that were made.', this.#misses),
    ];
  }

  /**
   * Requests that were read in the same turn of the event loop wait for its end and share one read of the
   * version, which is then later than every one of them.
   */
  async #readVersion(): Promise<StoreVersion | undefined> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    this.#nextVersion = undefined;
    return this.#store.version?.();
  }

  get #isFull(): boolean {
    return this.#settled.length + this.#others.length > CACHED_LENGTH_MAX;
  }

  #dropOld(version: StoreVersion | undefined): void {
    if (version?.commits === this.#version?.commits) return;
    if (version?.changes !== this.#version?.changes || this.#isFull) this.#settled.clear();
    this.#others.clear();
    this.#version = version;
  }

  /** A response is read after its version, so it is at least as new. Others may have seen a later version since. */
  #isExact({ isSettled = false }: Representation, version: StoreVersion | undefined): boolean {
    const count = isSettled ? 'changes' : 'commits';
    return version?.[count] === this.#version?.[count];
  }
}
