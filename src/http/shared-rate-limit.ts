import type { Clock } from '../domain/clock.ts';
import type { Budgets, Portion, RateLimit } from '../domain/store.ts';
import type { RateUsage } from './rate-limit.ts';

/** How often portions that are not in use are given back, and what is left is read. */
const RETURN_INTERVAL_MS = 1_000;
/** How long requests are not counted when the store is not available. Then they are refused. */
const UNCOUNTED_MS_MAX = 5_000;

/** The current portion of a key. */
interface Held extends Portion {
  endsAtMs: number;
  isUsed: boolean;
}

/**
 * One rate limit for all processes that use the store. A process takes a portion of what is left to a key, and
 * no request waits while it has some of it. No portion is taken twice, so the limit is never exceeded. What an
 * idle process has not used is given back.
 */
export class SharedRateLimit {
  readonly #budgets: Budgets;
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  /** By key. A portion whose window is over is removed within a second. */
  readonly #held = new Map<string, Held>();
  readonly #taking = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #failingSinceMs: number | undefined;

  constructor(budgets: Budgets, limit: RateLimit, clock: Clock) {
    this.#budgets = budgets;
    this.#limit = limit;
    this.#clock = clock;
    this.#timer = setInterval(() => void this.#giveBack(), RETURN_INTERVAL_MS).unref();
  }

  count(keyId: string): RateUsage | Promise<RateUsage> {
    const held = this.#held.get(keyId);
    const nowMs = this.#clock.elapsedMs();
    if (held === undefined || held.endsAtMs <= nowMs) return this.#countLater(keyId);
    held.isUsed = true;
    if (held.requests === 0 && held.left > 0) return this.#countLater(keyId);
    // Below 0 if nothing is left: the request exceeds the limit.
    const left = held.requests + held.left - 1;
    if (held.requests > 0) held.requests -= 1;
    return { limit: this.#limit, left, secondsLeft: Math.ceil((held.endsAtMs - nowMs) / 1000) };
  }

  /** Gives back all portions, so the store must still be open. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const held of this.#held.values()) held.isUsed = false;
    await this.#giveBack();
  }

  async #countLater(keyId: string): Promise<RateUsage> {
    try {
      await this.#take(keyId);
    } catch (error) {
      const nowMs = this.#clock.elapsedMs();
      this.#failingSinceMs ??= nowMs;
      if (nowMs - this.#failingSinceMs > UNCOUNTED_MS_MAX) throw error;
      const { requests, windowSeconds } = this.#limit;
      return { limit: this.#limit, left: requests - 1, secondsLeft: windowSeconds };
    }
    return this.count(keyId);
  }

  /** Requests of a key that need a portion at the same time share it. */
  #take(keyId: string): Promise<void> {
    let taking = this.#taking.get(keyId);
    if (taking === undefined) {
      taking = this.#takeNow(keyId).finally(() => this.#taking.delete(keyId));
      this.#taking.set(keyId, taking);
    }
    return taking;
  }

  async #takeNow(keyId: string): Promise<void> {
    const askedAtMs = this.#clock.elapsedMs();
    const portion = await this.#budgets.take(keyId, this.#limit);
    this.#failingSinceMs = undefined;
    this.#held.set(keyId, { ...portion, endsAtMs: askedAtMs + portion.endsInMs, isUsed: true });
  }

  /** A portion that was used since the last call stays. Its `left` is read again, so that headers are true. */
  async #giveBack(): Promise<void> {
    const nowMs = this.#clock.elapsedMs();
    const unused = [];
    for (const [keyId, held] of this.#held) {
      if (held.endsAtMs <= nowMs) {
        this.#held.delete(keyId);
      } else if (held.isUsed || held.requests > 0) {
        const requests = held.isUsed ? 0 : held.requests;
        held.isUsed = false;
        held.requests -= requests;
        held.left += requests;
        unused.push({ keyId, requests, window: held.window });
      }
    }
    if (unused.length === 0) return;
    try {
      for (const [keyId, left] of await this.#budgets.giveBack(unused, this.#limit)) {
        const held = this.#held.get(keyId);
        if (held !== undefined) held.left = left;
      }
    } catch {
      // What could not be given back is lost until the window ends.
    }
  }
}
