import cluster from 'node:cluster';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import { errorResponse } from './error-response.ts';
import type { HttpResponse } from './message.ts';

export interface RateLimit {
  requests: number;
  windowSeconds: number;
}

/** How far a key is through its limit, this request included. */
export interface RateUsage {
  limit: RateLimit;
  /** The requests left in the window; below 0 where there are none. */
  left: number;
  secondsLeft: number;
}

export type CountRequest = (keyId: string) => RateUsage | Promise<RateUsage>;

/** The primary counts in microseconds; one that takes this long is stopped or overloaded. */
const COUNT_TIMEOUT_MS = 5_000;
/** Requests of a worker that may wait to be counted at once. */
const WAITING_MAX = 10_000;

/** The requests a key has made in its window, this one included, and the rest of the window. */
interface Usage {
  used: number;
  leftMs: number;
}

type CountUsage<Result> = (keyId: string) => Result;

/** A message from a worker to the primary, and its reply: one usage per key, in the same order. */
interface CountMessage {
  countUsage: string[];
}
interface CountReply {
  usages: Usage[];
}

/** Counts the requests of each key. Workers count together, in the primary: the limit is that of the key. */
export function createRateLimit(
  limit: RateLimit,
  { isWorker, clock }: { isWorker: boolean; clock: Clock },
): CountRequest {
  const usageOf = ({ used, leftMs }: Usage): RateUsage => ({
    limit,
    left: limit.requests - used,
    secondsLeft: Math.ceil(leftMs / 1000),
  });
  if (!isWorker) {
    const countUsage = countHere(limit, clock);
    return (keyId) => usageOf(countUsage(keyId));
  }
  const countUsage = countInPrimary();
  return async (keyId) => usageOf(await countUsage(keyId));
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

/** In the primary: keeps the counts of all its workers. */
export function openSharedRateLimits(limit: RateLimit | undefined, clock: Clock): void {
  if (limit === undefined) return;
  const countUsage = countHere(limit, clock);
  cluster.on('message', (worker, message: Partial<CountMessage> | null) => {
    if (message?.countUsage === undefined) return;
    const reply: CountReply = { usages: message.countUsage.map(countUsage) };
    // Without a callback, a worker that has died in the meantime would end the primary.
    worker.send(reply, () => undefined);
  });
}

/**
 * Fixed windows that begin with the first request of a key. They are measured with the monotonic clock: the
 * other one can be set. There is one entry per key of the store at most.
 */
function countHere({ windowSeconds }: RateLimit, clock: Clock): CountUsage<Usage> {
  const windows = new Map<string, { used: number; endsAtMs: number }>();
  return (keyId) => {
    const nowMs = clock.elapsedMs();
    let window = windows.get(keyId);
    if (window === undefined || window.endsAtMs <= nowMs) {
      window = { used: 0, endsAtMs: nowMs + windowSeconds * 1000 };
      windows.set(keyId, window);
    }
    window.used += 1;
    return { used: window.used, leftMs: window.endsAtMs - nowMs };
  };
}

interface Waiting {
  keyId: string;
  resolve: (usage: Usage) => void;
  timer: NodeJS.Timeout;
}

/**
 * Asks the primary for all requests that wait, and asks again only when it has replied: the channel then
 * holds one message at most, however long the primary is silent.
 */
function countInPrimary(): CountUsage<Promise<Usage>> {
  const waiting = new Set<Waiting>();
  let asked: Waiting[] = [];

  function ask(): void {
    if (asked.length > 0 || waiting.size === 0) return;
    asked = [...waiting];
    waiting.clear();
    const request: CountMessage = { countUsage: asked.map(({ keyId }) => keyId) };
    // Where the primary is gone, no reply comes and the worker is about to end.
    process.send?.(request, undefined, undefined, () => undefined);
  }

  process.on('message', (message: Partial<CountReply> | null) => {
    if (message?.usages === undefined) return;
    for (const [index, usage] of message.usages.entries()) {
      clearTimeout(asked[index]?.timer);
      asked[index]?.resolve(usage);
    }
    asked = [];
    ask();
  });

  return (keyId) =>
    new Promise((resolve, reject) => {
      if (waiting.size >= WAITING_MAX) {
        reject(new Refusal('overloaded', 'Too many requests are waiting; try again shortly.'));
        return;
      }
      const timer = setTimeout(() => {
        waiting.delete(entry);
        const cause = 'the primary did not count the request in time';
        reject(new Refusal('unavailable', 'Requests cannot be counted right now.', { cause }));
      }, COUNT_TIMEOUT_MS);
      const entry = { keyId, resolve, timer };
      waiting.add(entry);
      ask();
    });
}

export function rateLimited({ secondsLeft }: RateUsage): HttpResponse {
  return errorResponse(
    'rate_limited',
    `This API key has used up its requests; try again in ${secondsLeft} seconds.`,
    ['Retry-After', String(secondsLeft)],
  );
}
