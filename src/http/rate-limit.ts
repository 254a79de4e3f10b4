import cluster from 'node:cluster';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import type { RateLimit } from '../domain/store.ts';
import { errorResponse } from './error-response.ts';
import type { HttpResponse } from './message.ts';

/** What a key has left of its limit after this request. */
export interface RateUsage {
  limit: RateLimit;
  /** The requests left in the window. Below 0 if this request exceeds the limit. */
  left: number;
  secondsLeft: number;
}

export type CountRequest = (keyId: string) => RateUsage | Promise<RateUsage>;

/** The primary counts in microseconds. If it takes this long, it is stopped or overloaded. */
const COUNT_TIMEOUT_MS = 5_000;
/** Requests of a worker that may wait to be counted at once. */
const WAITING_MAX = 10_000;

/** A message from a worker to the primary, and its reply: one usage per key, in the same order. */
interface CountMessage {
  countUsage: string[];
}
interface CountReply {
  usages: RateUsage[];
}

/** Counts the requests of each key in memory. Workers count together, in the primary: the limit is per key. */
export function countInMemory(
  limit: RateLimit,
  { isWorker, clock }: { isWorker: boolean; clock: Clock },
): CountRequest {
  return isWorker ? countInPrimary() : countHere(limit, clock);
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
    ['Retry-After', String(secondsLeft)],
  );
}

/** Runs in the primary. Counts the requests of all workers. */
export function openSharedRateLimits(limit: RateLimit | undefined, clock: Clock): void {
  if (limit === undefined) return;
  const count = countHere(limit, clock);
  cluster.on('message', (worker, message: Partial<CountMessage> | null) => {
    if (message?.countUsage === undefined) return;
    const reply: CountReply = { usages: message.countUsage.map(count) };
    // Without a callback, a worker that has died in the meantime would end the primary.
    worker.send(reply, () => undefined);
  });
}

/**
 * Fixed windows that begin with the first request of a key. The monotonic clock measures them, because the
 * other clock can be changed. There is at most one window per key of the store.
 */
function countHere(limit: RateLimit, clock: Clock): (keyId: string) => RateUsage {
  const windows = new Map<string, { left: number; endsAtMs: number }>();
  return (keyId) => {
    const nowMs = clock.elapsedMs();
    let window = windows.get(keyId);
    if (window === undefined || window.endsAtMs <= nowMs) {
      window = { left: limit.requests, endsAtMs: nowMs + limit.windowSeconds * 1000 };
      windows.set(keyId, window);
    }
    window.left -= 1;
    const secondsLeft = Math.ceil((window.endsAtMs - nowMs) / 1000);
    return { limit, left: window.left, secondsLeft };
  };
}

interface Waiting {
  keyId: string;
  resolve: (usage: RateUsage) => void;
  timer: NodeJS.Timeout;
}

/**
 * Sends the keys of all waiting requests to the primary, and the next keys only after its reply. So the
 * channel contains at most one message, however long the primary takes.
 */
function countInPrimary(): CountRequest {
  const waiting = new Set<Waiting>();
  let sent: Waiting[] = [];

  function send(): void {
    if (sent.length > 0 || waiting.size === 0) return;
    sent = [...waiting];
    waiting.clear();
    const message: CountMessage = { countUsage: sent.map(({ keyId }) => keyId) };
    // If the primary is gone, no reply comes and the worker is about to end.
    process.send?.(message, undefined, undefined, () => undefined);
  }

  process.on('message', (message: Partial<CountReply> | null) => {
    if (message?.usages === undefined) return;
    for (const [index, usage] of message.usages.entries()) {
      clearTimeout(sent[index]?.timer);
      sent[index]?.resolve(usage);
    }
    sent = [];
    send();
  });

  return (keyId) => {
    if (waiting.size >= WAITING_MAX) {
      throw new Refusal('overloaded', 'Too many requests are waiting; try again shortly.');
    }
    const { promise, resolve, reject } = Promise.withResolvers<RateUsage>();
    const timer = setTimeout(() => {
      waiting.delete(entry);
      const cause = 'the primary did not count the request in time';
      reject(new Refusal('unavailable', 'Requests cannot be counted right now.', { cause }));
    }, COUNT_TIMEOUT_MS);
    const entry = { keyId, resolve, timer };
    waiting.add(entry);
    send();
    return promise;
  };
}
