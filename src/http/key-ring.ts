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
/** A read of 10,000 keys blocks the process for about 40 ms, so a longer read is followed by a longer pause. */
const PAUSE_PER_READ_TIME = 20;

/** A key in use that ends within this time is counted as expiring. */
const EXPIRING_MS = 14 * 24 * 60 * 60 * 1000;
const IN_USE_MS = 7 * 24 * 60 * 60 * 1000;

/** The most requests that may wait for the next read. */
const WAITING_MAX = 1_000;

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
  #waiting: PromiseWithResolvers<void>[] = [];
  #nextReadAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Pick<KeyStore, 'listApiKeys'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  open(): Promise<void> {
    return this.#readEnd();
  }

  async close(): Promise<void> {
    await this.#reading;
    clearTimeout(this.#timer);
  }

  figures(): Figure[] {
    const ageSeconds = (this.#clock.elapsedMs() - this.#keysReadAtMs) / 1000;
    const help = 'Time since the API keys were last read. After 5 seconds none is accepted.';
    const now = this.#clock.now();
    const expiring = [...this.#keys.values()].filter((key) => isExpiring(key, now)).length;
    const expiringHelp = 'API keys that expire within 14 days and were used in the last 7 days.';
    return [
      gauge('petstore_api_keys', 'API keys in memory.', this.#keys.size, 'max'),
      gauge('petstore_api_keys_age_seconds', help, ageSeconds, 'max'),
      gauge('petstore_api_keys_expiring', expiringHelp, expiring, 'max'),
    ];
  }

  /** Returns a known key at once, and any other after a read. */
  find(hash: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const isStale = this.#clock.elapsedMs() - this.#keysReadAtMs > STALENESS_MAX_MS;
    return (isStale ? undefined : this.#keys.get(hash)) ?? this.#findByRead(hash);
  }

  async #findByRead(hash: string): Promise<ApiKey | undefined> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Refusal('overloaded', 'Too many unknown API keys are waiting; try again shortly.');
    }
    const isReading = this.#reading !== undefined;
    await this.#readEnd();
    // A read that was under way may have missed a key that was created after it began.
    if (isReading && !this.#keys.has(hash)) await this.#readEnd();
    return this.#keys.get(hash);
  }

  /** Resolves when the read that is under way has ended, or the next one. Rejects if it fails. */
  #readEnd(): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting.push(waiting);
    if (this.#reading === undefined) this.#readIn(this.#nextReadAtMs - this.#clock.elapsedMs());
    return waiting.promise;
  }

  #readIn(delayMs: number): void {
    clearTimeout(this.#timer);
    const begin = () => {
      this.#reading = this.#read();
    };
    if (delayMs <= 0) begin();
    else this.#timer = setTimeout(begin, delayMs).unref();
  }

  async #read(): Promise<void> {
    const beganAtMs = this.#clock.elapsedMs();
    let pauseMs = PAUSE_MIN_MS;
    try {
      const keys = await this.#store.listApiKeys();
      this.#keys = new Map(keys.map((key) => [key.hash, key]));
      this.#keysReadAtMs = beganAtMs;
      pauseMs = pauseAfter(this.#clock.elapsedMs() - beganAtMs);
      for (const { resolve } of this.#waiting) resolve();
    } catch (cause) {
      const message = 'API keys cannot be checked right now; try again shortly.';
      const refusal = new Refusal('unavailable', message, { cause });
      for (const { reject } of this.#waiting) reject(refusal);
    }
    this.#waiting = [];
    this.#reading = undefined;
    this.#nextReadAtMs = this.#clock.elapsedMs() + pauseMs;
    this.#readIn(PAUSE_MAX_MS);
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
