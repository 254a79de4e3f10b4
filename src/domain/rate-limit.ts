export interface RateLimit {
  requests: number;
  windowSeconds: number;
}

/** Requests of one key that one process may serve in a window. */
export interface Portion {
  requests: number;
  /** The requests of this window that no process has taken yet. It is 0 if the portion is empty. */
  left: number;
  endsInMs: number;
}

/** Takes a portion from the counter of a key. A window begins with its first portion. */
export type TakePortion = (keyId: string) => Portion | Promise<Portion>;

/**
 * Where several processes share a counter, a portion is this part of what is left, rounded down, and at least
 * one request. So a process takes at most 5 % of the limit at once.
 */
export const PORTIONS = 20;
