/**
 * What a worker tells the primary: that it takes requests, or what it wants to do next, for which it waits
 * until the primary says GO. Other parts, such as the rate limit, send messages of their own.
 */
export type WorkerMessage =
  | { ready: { baseUrl: string } }
  /**
   * listen: accept connections. close: accept no more; this GO only shows that all that the primary had sent
   * before it has arrived. drain: ask clients to leave, respond to what was accepted, and end.
   */
  | { ask: 'listen' | 'close' | 'drain' };

export const GO = 'go';
/** What the primary tells a worker that is to close and to drain. */
export const STOP = 'stop';
