import type { Clock } from '../domain/clock.ts';
import type { Portion, RateLimit, TakePortion } from '../domain/rate-limit.ts';
import { errorResponse } from './error-response.ts';
import type { HttpResponse } from './message.ts';

/** What a key has left of its limit after this request. */
interface RateUsage {
  limit: RateLimit;
  /** The requests left in the window. Below 0 if this request exceeds the limit. */
  left: number;
  secondsLeft: number;
}

export type CountRequest = (keyId: string) => Promise<RateUsage>;

/**
 * Counts the requests of each key. A process takes a portion of what is left to a key, and no request waits
 * while the portion lasts. No request is in two portions, and none passes uncounted, so the limit is never exceeded.
 * An unused rest is not given back.
 */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #takePortion: TakePortion;
  readonly #clock: Clock;
  /** The current portion of each key. At most one per key of the store. */
  readonly #held = new Map<string, Portion & { endsAtMs: number }>();
  readonly #taking = new Map<string, Promise<void>>();

  constructor(limit: RateLimit, takePortion: TakePortion, clock: Clock) {
    this.#limit = limit;
    this.#takePortion = takePortion;
    this.#clock = clock;
  }

  async count(keyId: string): Promise<RateUsage> {
    const held = this.#held.get(keyId);
    const nowMs = this.#clock.elapsedMs();
    if (held === undefined || held.endsAtMs <= nowMs) return this.#takeAndCount(keyId);
    if (held.requests === 0 && held.left > 0) return this.#takeAndCount(keyId);
    // Below 0 if nothing is left: the request exceeds the limit.
    const left = held.requests + held.left - 1;
    if (held.requests > 0) held.requests -= 1;
    return { limit: this.#limit, left, secondsLeft: Math.ceil((held.endsAtMs - nowMs) / 1000) };
  }

  /** Requests of a key that need a portion at the same time share it. */
  async #takeAndCount(keyId: string): Promise<RateUsage> {
    await this.#taking.getOrInsertComputed(keyId, () =>
      this.#take(keyId).finally(() => this.#taking.delete(keyId)),
    );
    return this.count(keyId);
  }

  /** Measured from before the request, so that the window ends here no later than at its counter. */
  async #take(keyId: string): Promise<void> {
    const askedAtMs = this.#clock.elapsedMs();
    const portion = await this.#takePortion(keyId);
    this.#held.set(keyId, { ...portion, endsAtMs: askedAtMs + portion.endsInMs });
  }
}

/** For a process that counts alone: all requests of a window are one portion, so that it counts exactly. */
export function wholeLimit({ requests, windowSeconds }: RateLimit): TakePortion {
  return () => ({ requests, left: 0, endsInMs: windowSeconds * 1000 });
}

/** For every response to a key (IETF draft 11). */
export function rateLimitHeaders({ limit, left, secondsLeft }: RateUsage): string[] {
  return [
    'RateLimit-Policy',
    `"default";q=${limit.requests};w=${limit.windowSeconds}`,
    'RateLimit',
    `"default";r=${Math.max(0, left)};t=${secondsLeft}`,
  ];
}

export function rateLimited({ secondsLeft }: RateUsage): HttpResponse {
  return errorResponse(
    'rate_limited',
    `This API key has used up its requests; try again in ${secondsLeft} seconds.`,
    String(secondsLeft),
  );
}
