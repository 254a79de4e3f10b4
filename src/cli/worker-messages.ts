/**
 * A message of a worker to the primary: that it is ready for requests, that its store has failed, or what it
 * will do once the primary sends GO. Other parts, such as the rate limit, send their own messages.
 */
export type WorkerMessage =
  | { ready: { baseUrl: string } }
  /** The reason. The worker ends, and so must all others. */
  | { failed: string }
  /** listen: accept connections. drain: ask clients to disconnect, respond to the accepted requests, and exit. */
  | { ask: 'listen' | 'drain' };

export const GO = 'go';
/** Sent by the primary to a worker that must close and drain. */
export const STOP = 'stop';
/** Sent by the primary to a worker that must respond to `/readyz` with 503 from now on. */
export const NOT_READY = 'not-ready';
