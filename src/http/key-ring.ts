import type { ApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import { gauge, type Figure, type Measured } from '../ops/metrics.ts';
import type { KeyStore } from '../domain/store.ts';

/** A revoked key is refused everywhere within this time. Keys that were read earlier are not used. */
const STALENESS_MAX_MS = 5_000;
const REFRESH_INTERVAL_MS = 2_000;

/**
 * Anybody can invent a well-formed key, and each one costs a query. These limits keep the connections of the
 * store free for callers whose key is known.
 */
const LOOK_UPS_MAX = 100;
const LOOK_UPS_IN_FLIGHT_MAX = 2;
/** Requests that may wait for the next refresh at once. */
const WAITING_MAX = 1_000;

type KeysRead = Pick<KeyStore, 'findApiKey' | 'listApiKeys'>;

interface LookUp {
  askedAtMs: number;
  found: Promise<ApiKey | undefined>;
}

/**
 * The keys in memory, so that checking one needs no query. They are read again every two seconds. If that
 * fails for longer than a revocation may take, no key is accepted.
 *
 * An unknown key may have been made a moment ago by another process, so it is looked up: once between two
 * refreshes, and only while the limits above allow it. Otherwise it waits for the next refresh.
 */
export class KeyRing implements Measured {
  readonly #store: KeysRead;
  readonly #clock: Clock;
  #timer: NodeJS.Timeout | undefined;
  #keys = new Map<string, ApiKey>();
  #freshAtMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;
  /** By hash: the look-ups that are newer than the last refresh. */
  readonly #lookUps = new Map<string, LookUp>();
  #lookUpsInFlight = 0;
  #waiting: (() => void)[] = [];

  constructor(store: KeysRead, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    await this.#refresh();
    // A failure is not reported: the keys become older, and the next call tries again.
    const refresh = () => void this.#refresh().catch(() => undefined);
    this.#timer = setInterval(refresh, REFRESH_INTERVAL_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  figures(): Figure[] {
    const ageSeconds = (this.#clock.elapsedMs() - this.#freshAtMs) / 1000;
    const help = 'Time since the API keys were last read. After 5 seconds none is accepted.';
    return [
      gauge('petstore_api_keys', 'API keys in memory.', this.#keys.size, 'max'),
      gauge('petstore_api_keys_age_seconds', help, ageSeconds, 'max'),
    ];
  }

  /** Returns a known key at once, and any other after a look-up. */
  find(hash: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const isStale = this.#clock.elapsedMs() - this.#freshAtMs > STALENESS_MAX_MS;
    return (isStale ? undefined : this.#keys.get(hash)) ?? this.#ask(hash, isStale);
  }

  async #ask(hash: string, isStale: boolean): Promise<ApiKey | undefined> {
    if (isStale) {
      await this.#refresh();
      const known = this.#keys.get(hash);
      if (known !== undefined) return known;
    }
    const earlier = this.#lookUps.get(hash);
    if (earlier !== undefined) return earlier.found;
    if (this.#lookUps.size >= LOOK_UPS_MAX || this.#lookUpsInFlight >= LOOK_UPS_IN_FLIGHT_MAX) {
      return this.#findAfterRefresh(hash);
    }
    const askedAtMs = this.#clock.elapsedMs();
    const lookUp = { askedAtMs, found: this.#lookUp(hash, askedAtMs) };
    this.#lookUps.set(hash, lookUp);
    try {
      return await lookUp.found;
    } catch (error) {
      // The next request may try again.
      if (this.#lookUps.get(hash) === lookUp) this.#lookUps.delete(hash);
      throw error;
    }
  }

  async #lookUp(hash: string, askedAtMs: number): Promise<ApiKey | undefined> {
    this.#lookUpsInFlight += 1;
    try {
      const found = await this.#store.findApiKey(hash);
      // A refresh that began after this look-up has seen at least as much.
      if (this.#freshAtMs > askedAtMs) return this.#keys.get(hash);
      return found && this.#learn(found);
    } finally {
      this.#lookUpsInFlight -= 1;
    }
  }

  /** If two reads overlap, either may be the newer one. A key that one of them found revoked stays revoked. */
  #learn(key: ApiKey): ApiKey {
    const known = this.#keys.get(key.hash);
    if (known?.revokedAt !== undefined) return known;
    this.#keys.set(key.hash, key);
    return key;
  }

  /** Waits for a refresh that begins later than now: a key that it does not contain does not exist. */
  async #findAfterRefresh(hash: string): Promise<ApiKey | undefined> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Refusal('overloaded', 'Too many unknown API keys are waiting; try again shortly.');
    }
    const askedAtMs = this.#clock.elapsedMs();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#freshAtMs < askedAtMs) throw keysUnavailable('the keys could not be read again');
    return this.#keys.get(hash);
  }

  /** Requests that need fresh keys at the same moment share one query. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#readKeys().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #readKeys(): Promise<void> {
    const askedAtMs = this.#clock.elapsedMs();
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.#replaceKeys(await this.#store.listApiKeys(), askedAtMs);
    } catch (cause) {
      throw keysUnavailable(cause);
    } finally {
      for (const resolve of waiting) resolve();
    }
  }

  #replaceKeys(keys: readonly ApiKey[], askedAtMs: number): void {
    const before = this.#keys;
    this.#keys = new Map(keys.map((key) => [key.hash, key]));
    this.#freshAtMs = askedAtMs;
    for (const [hash, lookUp] of this.#lookUps) {
      const found = before.get(hash);
      if (lookUp.askedAtMs < askedAtMs) this.#lookUps.delete(hash);
      else if (found !== undefined) this.#learn(found);
    }
  }
}

function keysUnavailable(cause: unknown): Refusal {
  return new Refusal('unavailable', 'API keys cannot be checked right now; try again shortly.', {
    cause,
  });
}
