import type { ApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import type { Store } from '../domain/store.ts';
import type { Later } from './later.ts';

/** A revoked key stops working everywhere within this time, or nothing works. */
const STALENESS_MAX_MS = 5_000;
const REFRESH_INTERVAL_MS = 2_000;
const USE_RECORD_INTERVAL_MS = 30_000;

/** A failed round shows in the age of the ring, and the next round tries again. */
function every(intervalMs: number, work: () => Promise<void>): NodeJS.Timeout {
  return setInterval(() => void work().catch(() => undefined), intervalMs).unref();
}

type KeyStore = Pick<Store, 'findApiKey' | 'listApiKeys' | 'recordKeyUse'>;

/**
 * The keys in memory, so that checking one needs no query. They are read again every two seconds; where
 * that fails for longer than a revocation may take, the ring refuses to vouch for any key.
 */
export class KeyRing {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #timers: NodeJS.Timeout[] = [];
  #keys = new Map<string, ApiKey>();
  #freshAtMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;
  #usedSinceRecord = new Map<string, Date>();

  constructor(store: KeyStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    await this.#refresh();
    this.#timers.push(
      every(REFRESH_INTERVAL_MS, () => this.#refresh()),
      every(USE_RECORD_INTERVAL_MS, () => this.#recordUse()),
    );
  }

  /** Records the last uses; the store is still open then. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#recordUse().catch(() => undefined);
  }

  find(hash: string): Later<ApiKey | undefined> {
    const isStale = this.#clock.elapsedMs() - this.#freshAtMs > STALENESS_MAX_MS;
    return (isStale ? undefined : this.#keys.get(hash)) ?? this.#ask(hash, isStale);
  }

  async #ask(hash: string, isStale: boolean): Promise<ApiKey | undefined> {
    if (isStale) await this.#refresh();
    const known = this.#keys.get(hash);
    if (known !== undefined) return known;
    // Perhaps made a moment ago, by another process.
    const found = await this.#store.findApiKey(hash);
    if (found !== undefined) this.#keys.set(hash, found);
    return found;
  }

  noteUse(key: ApiKey): void {
    if (!this.#usedSinceRecord.has(key.id)) this.#usedSinceRecord.set(key.id, this.#clock.now());
  }

  /** Those who need fresh keys at the same moment share one reading. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#readKeys().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #readKeys(): Promise<void> {
    const askedAtMs = this.#clock.elapsedMs();
    try {
      const keys = await this.#store.listApiKeys();
      this.#keys = new Map(keys.map((key) => [key.hash, key]));
      this.#freshAtMs = askedAtMs;
    } catch (cause) {
      throw new Refusal('unavailable', 'API keys cannot be checked right now; try again shortly.', {
        cause,
      });
    }
  }

  async #recordUse(): Promise<void> {
    if (this.#usedSinceRecord.size === 0) return;
    const used = this.#usedSinceRecord;
    this.#usedSinceRecord = new Map();
    await this.#store.recordKeyUse(used);
  }
}
