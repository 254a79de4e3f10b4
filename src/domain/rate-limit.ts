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
