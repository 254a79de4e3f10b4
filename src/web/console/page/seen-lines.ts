import { sha256 } from './sha256.ts';

const STORAGE_NAME = 'petstore.seen.';
/** As long as the service keeps an `Idempotency-Key`. */
const LIFETIME_MS = 24 * 60 * 60 * 1000;
const LINES_MAX = 20_000;
const HASH_LENGTH = 8;
const SAVED_EVERY_LINES = 100;

/** The lines that one run has added: when it began, and their hashes, joined. */
type Batch = [startedMs: number, hashes: string];

/**
 * Which lines this browser has added with one API key. It is a hint, made of hashes only: the service decides
 * what is added.
 */
export class SeenLines {
  readonly #storageName: string;
  readonly #hashes: ReadonlySet<string>;
  #batch: Batch | undefined;

  constructor(apiKey: string) {
    this.#storageName = STORAGE_NAME + sha256(apiKey).slice(0, HASH_LENGTH);
    this.#hashes = new Set(this.#read().flatMap(([, hashes]) => hashes.match(/.{8}/g) ?? []));
  }

  /** Whether the line was added before this object was made. */
  has(idempotencyKey: string): boolean {
    return this.#hashes.has(idempotencyKey.slice(0, HASH_LENGTH));
  }

  add(idempotencyKey: string): void {
    this.#batch ??= [Date.now(), ''];
    this.#batch[1] += idempotencyKey.slice(0, HASH_LENGTH);
    if (this.#batch[1].length % (SAVED_EVERY_LINES * HASH_LENGTH) === 0) this.save();
  }

  /** Keeps what other tabs have stored meanwhile, and the newest lines if there are too many. */
  save(): void {
    const own = this.#batch;
    if (own === undefined) return;
    let restLength = LINES_MAX * HASH_LENGTH;
    const batches = [own, ...this.#read().filter(([startedMs]) => startedMs !== own[0])];
    const kept = batches.flatMap(([startedMs, hashes]): Batch[] => {
      const newest = restLength > 0 ? hashes.slice(-restLength) : '';
      restLength -= newest.length;
      return newest === '' ? [] : [[startedMs, newest]];
    });
    try {
      localStorage.setItem(this.#storageName, JSON.stringify(kept));
    } catch {
      // Without storage there is no hint. The service still adds nothing twice.
    }
  }

  #read(): Batch[] {
    try {
      const stored = JSON.parse(localStorage.getItem(this.#storageName) ?? '[]') as Batch[];
      return stored.filter(([startedMs]) => Date.now() - startedMs < LIFETIME_MS);
    } catch {
      return [];
    }
  }
}
