import {
  RateLimiterCluster,
  RateLimiterClusterMaster,
  RateLimiterMemory,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { errorResponse } from './error-response.ts';
import type { HttpResponse } from './message.ts';

export interface RateLimit {
  requests: number;
  windowSeconds: number;
}

export interface RateVerdict {
  /** `RateLimit` and `RateLimit-Policy`, for every answer to this key. */
  headers: string[];
  refusal: HttpResponse | undefined;
}

/** Counts the requests of each key, and says what the headers and perhaps the refusal are. */
export function createRateLimit(
  { requests, windowSeconds }: RateLimit,
  { isWorker }: { isWorker: boolean },
) {
  const policy = { keyPrefix: 'petstore', points: requests, duration: windowSeconds };
  // Workers count together, in the primary: the limit is that of the key, not of the process.
  const limiter = isWorker ? new RateLimiterCluster(policy) : new RateLimiterMemory(policy);

  return async function countRequest(keyId: string): Promise<RateVerdict> {
    const state = await limiter.consume(keyId).catch((refused: unknown) => {
      if (refused instanceof RateLimiterRes) return refused;
      throw refused;
    });
    const secondsLeft = Math.ceil(state.msBeforeNext / 1000);
    const headers = [
      'RateLimit-Policy',
      `"default";q=${requests};w=${windowSeconds}`,
      'RateLimit',
      `"default";r=${state.remainingPoints};t=${secondsLeft}`,
    ];
    const isOver = state.consumedPoints > requests;
    return { headers, refusal: isOver ? rateLimited(secondsLeft) : undefined };
  };
}

/** In the primary: keeps the counts of all its workers. */
export function openSharedRateLimits(): void {
  void new RateLimiterClusterMaster();
}

function rateLimited(secondsLeft: number): HttpResponse {
  return errorResponse(
    'rate_limited',
    `This API key has used up its requests; try again in ${secondsLeft} seconds.`,
    ['Retry-After', String(secondsLeft)],
  );
}
