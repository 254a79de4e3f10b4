import { stateOfKey, type ApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import { gauge, type Figure, type Measured } from '../ops/metrics.ts';
import type { KeyStore } from '../domain/store.ts';

/** A revoked key is refused everywhere within this time, because keys that were read earlier are not used. */
const STALENESS_MAX_MS = 5_000;

/** The pause between two reads. If no request waits, it is the maximum. */
const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 2_000;
/** A read of many keys blocks the process, so a longer read is followed by a longer pause. */
const PAUSE_PER_READ_TIME = 20;

/** A key in use that ends within this time is counted as expiring. */
const EXPIRING_MS = 14 * 24 * 60 * 60 * 1000;
const IN_USE_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * The keys in memory, so that checking one needs no query. All keys are read again at least every two
 * seconds, with one read at a time. If that fails for longer than a revocation may take, no key is accepted.
 *
 * An unknown key may have been created a moment ago by another process, so its request waits for a read that
 * begins after its arrival. Anybody can invent well-formed keys; the pause between two reads bounds what they
 * cost, and requests whose key is known do not wait.
 */
export class KeyRing implements Measured {
  readonly #store: Pick<KeyStore, 'listApiKeys'>;
  readonly #clock: Clock;
  #keys = new Map<string, ApiKey>();
  /** When the read of these keys began. */
  #keysReadAtMs = Number.NEGATIVE_INFINITY;
  #nextReadAtMs = Number.NEGATIVE_INFINITY;
  #reading = Promise.resolve();
  /** The end of the read that has not begun yet. All that wait share it. */
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: Pick<KeyStore, 'listApiKeys'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  open(): Promise<void> {
    return this.#nextRead();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#reading.catch(() => undefined);
  }

  figures(): Figure[] {
    const ageSeconds = (this.#clock.elapsedMs() - this.#keysReadAtMs) / 1000;
    const help = 'Time since the API keys were last read. After 5 seconds none is accepted.';
    const now = this.#clock.now();
    const expiring = [...this.#keys.values()].filter((key) => isExpiring(key, now)).length;
    const expiringHelp = 'API keys that expire within 14 days and were used in the last 7 days.';
    return [
      gauge('petstore_api_keys', 'API keys in memory.', this.#keys.size),
      gauge('petstore_api_keys_age_seconds', help, ageSeconds),
      gauge('petstore_api_keys_expiring', expiringHelp, expiring),
    ];
  }

  /** Returns a known key at once, and any other after a read. */
  find(hash: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const isStale = this.#clock.elapsedMs() - this.#keysReadAtMs > STALENESS_MAX_MS;
    const known = isStale ? undefined : this.#keys.get(hash);
    return known ?? this.#nextRead().then(() => this.#keys.get(hash));
  }

  /** A read that is under way may have missed a key that was created after it began. */
  #nextRead(): Promise<void> {
    return (this.#next ??= this.#readLater());
  }

  async #readLater(): Promise<void> {
    await this.#reading.catch(() => undefined);
    const pauseMs = this.#nextReadAtMs - this.#clock.elapsedMs();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    this.#next = undefined;
    this.#reading = this.#read();
    await this.#reading;
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    const beganAtMs = this.#clock.elapsedMs();
    let pauseMs = PAUSE_MIN_MS;
    try {
      if (this.#isClosed) throw new Error('the keys are closed');
      const keys = await this.#store.listApiKeys();
      this.#keys = new Map(keys.map((key) => [key.hash, key]));
      this.#keysReadAtMs = beganAtMs;
      pauseMs = pauseAfter(this.#clock.elapsedMs() - beganAtMs);
    } catch (cause) {
      const message = 'API keys cannot be checked right now; try again shortly.';
      throw new Refusal('unavailable', message, { cause });
    } finally {
      this.#nextReadAtMs = this.#clock.elapsedMs() + pauseMs;
      const readAgain = () => void this.#nextRead().catch(() => undefined);
      if (!this.#isClosed) this.#timer = setTimeout(readAgain, PAUSE_MAX_MS).unref();
    }
  }
}

/** Whether the key ends soon and is still in use. */
function isExpiring(key: ApiKey, now: Date): boolean {
  const { expiresAt, lastUsedAt } = key;
  if (expiresAt === undefined || lastUsedAt === undefined) return false;
  const endsSoon = expiresAt.getTime() - now.getTime() <= EXPIRING_MS;
  const isInUse = now.getTime() - lastUsedAt.getTime() <= IN_USE_MS;
  return endsSoon && isInUse && stateOfKey(key, now) === 'active';
}

function pauseAfter(durationMs: number): number {
  return Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, durationMs * PAUSE_PER_READ_TIME));
}
